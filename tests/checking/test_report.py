"""What people, programs and GitHub are told."""

import json
from typing import get_args
from xml.etree import ElementTree as ET

import pytest
from pydantic import ValidationError

from harness.domain.check import (
    BlockResult,
    ChangedSince,
    CheckFault,
    CheckReport,
    FormatFinding,
    Observation,
    PartResult,
    SkillChange,
    SkillComparison,
    Status,
)
from harness.domain.skill import Mark
from harness.domain.verdict import Number
from harness.report.check import render_annotations, render_check
from harness.report.console import plain_text
from harness.report.junit import render_check_junit
from harness.report.sarif import render_sarif


def report(**part: object) -> CheckReport:
    mark = Mark(polarity="right", word="RIGHT", place="comment", text="RIGHT: safe", line=8)
    given = {
        "line": 8,
        "kind": "loss",
        "mark": mark,
        "status": "fails",
        "sentence": "It is nan at -1, 100%.",
        **part,
    }
    block = BlockResult(
        file="references/a.md", position=1, line=7, end=11, digest="0" * 12, headings=("A", "B"),
        parts=(PartResult.model_validate(given),),
    )  # fmt: skip
    finding = FormatFinding(
        level="error", file="SKILL.md", line=2, rule="name", sentence="Too long.", refused_by=("X",)
    )
    return CheckReport(skill="skills/tiny", format=(finding,), blocks=(block,), ran=1, seconds=1.0)


def test_a_failing_block_is_told_with_place_claim_and_sentence():
    lines = plain_text(render_check(report())).splitlines()
    assert lines[0] == "skills/tiny/references/a.md:8  claim fails  loss  B"
    assert lines[1] == '    says "RIGHT: safe". It is nan at -1, 100%.'
    assert lines[2] == "skills/tiny/SKILL.md:2  error  name: Too long. Refused by: X."
    assert lines[-1] == "1 block: 1 claim fails; format: 1 error, in 1.0 s"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("skills/tiny/", "skills/tiny/references/a.md:8"),
        (".", "references/a.md:8"),
        ("skills/tiny/references/a.md", "skills/tiny/references/a.md:8"),
        ("a.md", "a.md:8"),
    ],
)
def test_a_place_is_one_that_an_editor_opens_from_where_the_command_ran(given, told):
    """Of several skills, as a hook gives them, each line says whose it is."""
    found = report().model_copy(update={"skill": given})
    if given.endswith(".md"):
        block = found.blocks[0].model_copy(update={"file": "a.md"})
        found = found.model_copy(update={"blocks": (block,)})

    assert plain_text(render_check(found)).startswith(f"{told}  claim fails")
    *_, marked = render_annotations(found)
    assert marked.startswith(f"::error file={told.removesuffix(':8')},line=8,")


def test_what_an_interrupted_run_had_finished_is_told_by_the_next():
    found = report(status="holds").model_copy(update={"ran": 0})
    assert "(1 unchanged since they were run)" in plain_text(render_check(found))


def test_of_a_page_that_is_no_skill_the_links_are_told_and_no_format():
    found = report(status="holds").model_copy(update={"is_page": True, "format": ()})

    said = plain_text(render_check(found)).rstrip()
    assert said == "1 block: 1 claim holds; links: in order, in 1.0 s"


def test_blocks_in_order_are_silent_unless_asked_for():
    quiet = report(status="holds")
    assert "references/a.md" not in plain_text(render_check(quiet))
    assert "skills/tiny/references/a.md:8  claim holds" in plain_text(
        render_check(quiet, verbose=True)
    )


def test_an_observation_does_not_repeat_the_sentence_that_rests_on_it():
    """What the author says about it is told all the same."""
    seen = Observation(sentence="It is nan at -1, 100%.", statement="stable", holds=False)
    lines = plain_text(render_check(report(observations=(seen,)))).splitlines()

    assert lines[1:3] == ['    says "RIGHT: safe". It is nan at -1, 100%.', '    it says: "stable"']


def test_a_fault_that_an_edit_brought_says_why_the_exit_code_is_silent():
    change = SkillChange(
        what="fault", how="added", file="SKILL.md", line=7, name="block 1, A", after="It is nan."
    )
    against = SkillComparison(old="old", changes=(change,))
    lines = plain_text(render_check(report().model_copy(update={"comparison": against})))

    assert (
        "    skills/tiny/SKILL.md:7  fault added: block 1, A: "
        "it claims nothing, so the exit code does not count it" in lines.splitlines()
    )


def test_an_annotation_marks_the_line_and_can_be_ended_by_nothing_in_it():
    evil = report(sentence="a\n::error::b,c:d 50%")
    *_, line = render_annotations(evil)
    assert line == (
        "::error file=skills/tiny/references/a.md,line=8,endLine=11,title=claim fails"
        '::says "RIGHT: safe". a%0A::error::b,c:d 50%25'
    )
    first = next(iter(render_annotations(evil)))
    place = "file=skills/tiny/SKILL.md,line=2,endLine=2"
    assert first == f"::error {place},title=format%3A name::Too long. Refused by: X."


def told(found: CheckReport) -> tuple[list[str], list[str], list[str]]:
    """Every sentence of SARIF, JUnit and the annotations."""
    run = json.loads(render_sarif([found]))["runs"][0]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    sarif = [one["message"]["text"] for one in (*run["results"], *notes)]
    whole = ET.fromstring(render_check_junit([found]))
    said = [
        e.get("message") or "" for kind in ("failure", "error", "skipped") for e in whole.iter(kind)
    ]
    said += [line for out in whole.iter("system-out") for line in (out.text or "").split("\n")]
    return sarif, said, [line.split("::", 2)[2] for line in render_annotations(found)]


@pytest.mark.parametrize("status", [s for s in get_args(Status) if s != "pseudo-code"])
def test_sarif_junit_and_annotations_tell_the_same(status):
    beside = Observation(sentence="A gradient is lost.", statement="all learn", holds=False)
    found = report(status=status, sentence="Seen.", observations=(beside,)).model_copy(
        update={
            "faults": (CheckFault(place="SKILL.md:3", sentence="KeyError: 1"),),
            "machine_notes": ("no memory limit",),
        }
    )
    sarif, junit, annotations = map(sorted, told(found))

    assert sarif == junit == annotations
    assert "fault of ours: SKILL.md:3: KeyError: 1" in sarif
    assert 'A gradient is lost. (it says: "all learn")' in sarif


def test_data_keep_not_a_number_apart_from_nothing():
    seen = Observation(sentence="x", numbers=(Number(name="loss", value=float("nan")),))
    data = json.loads(report(observations=(seen,)).model_dump_json(indent=2))
    part = data["blocks"][0]["parts"][0]
    assert part["observations"][0]["numbers"][0]["value"] == "NaN"
    assert data["blocks"][0]["status"] == "fails"
    assert data["exit_code"] == 1


def test_text_of_a_skill_is_shown_as_it_is_and_never_as_markup():
    assert "[bold]x[/bold]" in plain_text(render_check(report(sentence="[bold]x[/bold]")))


def test_escape_sequences_of_a_skill_do_not_reach_the_terminal():
    """Its marks, headings and sentences are words of strangers; GitHub's log is a terminal too."""
    evil = report(sentence="\x1b[2J", kind="loss", mark=Mark(
        polarity="right", word="RIGHT", place="comment", text="RIGHT: \x1b]0;x\x07", line=8,
    ))  # fmt: skip
    said = plain_text(render_check(evil, verbose=True)) + "".join(render_annotations(evil))

    assert "]0;x" in said  # it is told, without what would make it a command
    assert all(character.isprintable() or character == "\n" for character in said)


def rest(**part: object) -> str:
    return plain_text(render_check(report(**part))).splitlines()[-1]


def test_what_is_not_installed_is_counted_by_package_in_the_last_line():
    said = rest(status="cannot-be-run", needs=("peft",), mark=None, sentence="It needs peft.")
    assert said == "not shown: 1 need what is not installed: peft (1) (--verbose)"


def test_what_was_not_decided_is_one_counted_line():
    told = rest(status="cannot-be-run", kind="helper", mark=None)
    assert told == "not shown: 1 with other code could not be run (--verbose)"
    told = rest(status="inconclusive")
    assert told == "not shown: 1 inconclusive; 1 of these carry a claim (--verbose)"


def test_a_second_run_tells_what_came_out_otherwise():
    changes = (
        ChangedSince(place="SKILL.md:7", before="holds", after="fails"),
        ChangedSince(place="SKILL.md:9", before=None, after="runs"),
    )
    said = plain_text(render_check(report().model_copy(update={"since_last": changes})))

    assert (
        "since the last run: skills/tiny/SKILL.md:7 claim fails (was: claim holds), "
        "skills/tiny/SKILL.md:9 runs, claims nothing (new)" in " ".join(said.split())
    )


def test_strict_tells_a_claim_that_could_not_be_decided_by_its_exit_code():
    found = report(status="inconclusive").model_copy(update={"format": ()})
    assert [found.exit_code_when(strict=strict) for strict in (False, True)] == [0, 4]


def test_sarif_and_junit_hold_what_fails_with_its_place():
    result = json.loads(render_sarif([report()]))["runs"][0]["results"][1]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("claim-fails", "error")
    assert place["artifactLocation"]["uri"] == "skills/tiny/references/a.md"
    assert place["region"] == {"startLine": 8, "endLine": 11}
    suite = ET.fromstring(render_check_junit([report()])).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("tests")) == ("2", "2")


def test_sarif_is_valid_by_its_schema():
    """The package's models were generated from the published schema of 2.1.0."""
    model = pytest.importorskip("pydantic_sarif.model", reason="a package of the extra dev")
    of = model.StaticAnalysisResultsFormatSarifVersion210JsonSchema

    valid = json.loads(render_sarif([report(), report(status="inconclusive")]))
    assert len(of.model_validate(valid).runs[0].results) == 4
    with pytest.raises(ValidationError):
        of.model_validate({**valid, "runs": [{"results": []}]})
