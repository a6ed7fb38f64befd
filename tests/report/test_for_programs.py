"""JUnit XML, Markdown and JSON of a stored run, and the schemas of what is written."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from harness.comparison import compare
from harness.domain.reported import AnswerLine
from harness.report.answers import render_answer, render_line
from harness.report.console import plain_text
from harness.report.data import render_report_json
from harness.report.junit import render_junit
from harness.report.markdown import render_markdown
from harness.report.schemas import SCHEMAS, render_schema
from tests.comparison.arms import arm
from tests.fakes.run import result, run, verdict
from tests.report.sides import answer, head, hostile, quality, report, side, unanswered

SCHEMA = Path(__file__).parents[2] / "docs" / "schema"


def test_wrong_code_is_a_failure_and_no_answer_an_error():
    """What could not be told is skipped; the sums stand at the top."""
    found = report(
        side("run", answer("right"), answer("wrong"), answer("inconclusive"), unanswered())
    )

    whole = ET.fromstring(render_junit(found))

    assert whole.attrib | {"name": ""} == (
        {"name": "", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    )
    failure = whole.find("testsuite/testcase/failure")
    assert failure.get("message") == "code wrong, clip-before-step"
    assert "consumed norm 17.1" in failure.text


def test_a_hostile_answer_leaves_the_xml_whole():
    """XML cannot hold an escape character in any spelling."""
    whole = ET.fromstring(render_junit(report(side("run", hostile()))))

    assert [case.tag for case in whole.iter()] == ["testsuites", "testsuite", "testcase", "failure"]


def test_the_summary_names_what_is_not_right_with_its_sentences():
    """A table for all, a folded list for those that need a look."""
    text = render_markdown(report(side("run", answer("right"), answer("wrong"))))

    assert "| toy | 1 code right, 1 code wrong |" in text
    where = "On large gradients, in its first update"
    assert f"  - clip-before-step: {where} the optimizer consumed norm 17.1" in text


def test_a_hostile_answer_brings_no_markup_into_the_summary():
    """No element, no link, no escape sequence; and nobody is notified."""
    evil = answer("wrong")
    bad = verdict("clip-before-step", "fail").model_copy(
        update={"sentence": "@everyone <b>x</b> [a](javascript:x) https://evil.example \x1b[2J"}
    )
    (one,) = evil.answer.alternatives
    one = one.model_copy(update={"grade": one.grade.model_copy(update={"verdicts": (bad,)})})
    graded = evil.answer.model_copy(update={"alternatives": (one,)})

    text = render_markdown(report(side("run", evil.model_copy(update={"answer": graded}))))

    assert "everyone" in text
    for forbidden in ("<b>", "[a](", "https://", "@everyone", "\x1b"):
        assert forbidden not in text


def test_escape_sequences_of_an_answer_do_not_reach_the_terminal():
    """In words and in JSON, which reads back as it was."""
    evil = hostile().answer

    text = plain_text(render_answer(evil, verbose=True, show_program=True))
    line = render_line(evil)

    assert all(c.isprintable() or c == "\n" for c in text)
    assert line.isprintable()
    assert AnswerLine.model_validate_json(line).file == evil.file


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_the_generated_one(name):
    """After a change of a record, ``make docs`` has to be run."""
    assert (SCHEMA / f"{name}.json").read_text() == render_schema(SCHEMAS[name])


def test_no_schema_is_left_of_a_record_that_is_gone():
    """The folder holds what is generated and nothing else."""
    assert {path.stem for path in SCHEMA.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("run", run(result(verdict("finite-loss", "fail"))).model_dump_json(indent=2)),
        ("grade-line", render_line(answer().answer)),
        ("report", render_report_json(report(side("run", answer(), unanswered())))),
        (
            "comparison",
            compare(arm("a", {"s": "+-"}), arm("b", {"s": "++"})).model_dump_json(indent=2),
        ),
        ("quality", quality().model_dump_json(indent=2)),
        ("stored-run", head().model_dump_json()),
        ("stored-answer", answer().model_dump_json()),
    ],
)
def test_what_is_written_is_as_its_schema_says(name, written):
    """NaN included, which JSON does not have."""
    schema = json.loads((SCHEMA / f"{name}.json").read_text())

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(written))
