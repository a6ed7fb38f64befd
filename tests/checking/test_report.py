"""What people, programs and GitHub are told."""

import json

from harness.domain.check import (
    BlockResult,
    Change,
    CheckReport,
    Comparison,
    FormatFinding,
    Observation,
    PartResult,
)
from harness.domain.skill import Mark
from harness.domain.verdict import Number
from harness.report.check import render_annotations, render_check, render_check_json
from harness.report.console import plain_text


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
    return CheckReport(skill="skills/tiny", format=(finding,), blocks=(block,), seconds=1.0)


def test_a_failing_block_is_told_with_place_claim_and_sentence():
    lines = plain_text(render_check(report())).splitlines()
    assert lines[0] == "SKILL.md:2  error  name: Too long. Refused by: X."
    assert lines[1] == "references/a.md:8  claim fails  loss  B"
    assert lines[2] == '    says "RIGHT: safe". It is nan at -1, 100%.'
    assert lines[-1] == "1 block: 1 claim fails; format: 1 error, in 1.0 s"


def test_of_a_page_that_is_no_skill_the_links_are_told_and_no_format():
    found = report(status="holds").model_copy(update={"is_page": True, "format": ()})

    said = plain_text(render_check(found)).rstrip()
    assert said == "1 block: 1 claim holds; links: in order, in 1.0 s"


def test_blocks_in_order_are_silent_unless_asked_for():
    quiet = report(status="holds")
    assert "references/a.md" not in plain_text(render_check(quiet))
    assert "references/a.md:8  claim holds" in plain_text(render_check(quiet, verbose=True))


def test_an_observation_does_not_repeat_the_sentence_that_rests_on_it():
    """What the author says about it is told all the same."""
    seen = Observation(sentence="It is nan at -1, 100%.", statement="stable", holds=False)
    lines = plain_text(render_check(report(observations=(seen,)))).splitlines()

    assert lines[2:4] == ['    says "RIGHT: safe". It is nan at -1, 100%.', '    it says: "stable"']


def test_a_fault_that_an_edit_brought_says_why_the_exit_code_is_silent():
    change = Change(
        what="fault", how="added", file="SKILL.md", line=7, name="block 1, A", after="It is nan."
    )
    against = Comparison(old="old", changes=(change,))
    lines = plain_text(render_check(report().model_copy(update={"comparison": against})))

    assert (
        "    SKILL.md:7  fault added: block 1, A: it claims nothing, so the exit code does not count it"
        in lines.splitlines()
    )


def test_an_annotation_marks_the_line_and_can_be_ended_by_nothing_in_it():
    evil = report(sentence="a\n::error::b,c:d 50%")
    *_, line = render_annotations(evil)
    assert line == (
        "::error file=skills/tiny/references/a.md,line=8,endLine=11,title=claim fails"
        '::says "RIGHT: safe". a%0A::error::b,c:d 50%25'
    )
    assert (
        next(iter(render_annotations(evil)))
        == "::error file=skills/tiny/SKILL.md,line=2,title=format%3A name::Too long."
    )


def test_data_keep_not_a_number_apart_from_nothing():
    seen = Observation(sentence="x", numbers=(Number(name="loss", value=float("nan")),))
    data = json.loads(render_check_json(report(observations=(seen,))))
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
