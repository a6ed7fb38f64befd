"""Branches that no probe entered: what is said of them, and what a grade makes of them."""

import json

import pytest

from harness.domain.branch import Unentered, in_none
from harness.domain.grade import Grade, write_grade
from harness.domain.verdict import failed, passed
from harness.report.answers import render_answer, render_line
from harness.report.console import plain_text
from harness.report.html import render_page
from tests.fakes.traces import probe, program, scenario, trace
from tests.report.sides import answer, report, side

CLIP = Unentered(first=14, last=16, touches=("clip_grad_norm_",))
LATER = CLIP.model_copy(update={"waits": True})
NOTE = "Lines 14-16 (`clip_grad_norm_`) ran in no probe: nothing is said of them."


def graded(*runs: tuple[Unentered, ...] | None, outcome: str = "right") -> Grade:
    """A program of which each probe left some branches out."""
    probes = [
        probe(f"probe-{n}", program=program(unentered=branches)) for n, branches in enumerate(runs)
    ]
    judged = {"right": passed, "wrong": failed}[outcome]("finite-loss", "As it is.")
    return write_grade(scenario(["finite-loss"]), "a", (judged,), trace=trace(*probes))


def test_a_right_program_with_a_branch_that_nothing_entered_has_a_note():
    grade = graded((CLIP,), (CLIP,))

    assert (grade.code, grade.notes, grade.reason) == ("right", (NOTE,), None)


@pytest.mark.parametrize("runs", [((CLIP,), ()), ((LATER,), ()), ((CLIP,), None), ()])
def test_what_one_probe_entered_or_nobody_knows_is_not_told(runs):
    assert (graded(*runs).code, graded(*runs).notes) == ("right", ())


def test_a_program_that_trains_otherwise_later_on_is_not_called_right():
    grade = graded((LATER,), (LATER,))

    assert grade.code == "inconclusive"
    assert "lines 14-16 (`clip_grad_norm_`) ran in no probe, and a count of steps" in grade.reason


def test_a_wrong_program_stays_wrong():
    grade = graded((LATER,), outcome="wrong")

    assert (grade.code, grade.reason, grade.notes) == ("wrong", None, (NOTE,))


def test_a_count_that_one_probe_reached_keeps_nothing_from_being_right():
    """The data kept that probe out of the branch."""
    assert graded((LATER,), (CLIP,)).code == "right"


def test_a_probe_that_never_came_to_the_function_says_nothing_of_its_branches():
    never = LATER.model_copy(update={"reached": False})

    assert graded((never,), (CLIP,)).code == "right"
    assert graded((never,), (LATER,)).code == "inconclusive"
    assert graded((never,), (never,)).notes == ()


def test_a_branch_counts_as_unseen_only_if_no_rank_entered_it():
    assert in_none([(CLIP,), ()]) == ()
    assert in_none([(CLIP,), (CLIP,)]) == (CLIP,)
    assert in_none([]) is None


def test_notes_and_the_reason_stand_where_a_grade_is_shown():
    stored = answer("right")
    (alternative,) = stored.answer.alternatives
    told = alternative.model_copy(update={"grade": graded((LATER,), (LATER,))})
    shown = stored.answer.model_copy(update={"alternatives": (told,)})
    stored = stored.model_copy(update={"answer": shown})

    text = plain_text(render_answer(shown, verbose=False, show_program=False))
    line = json.loads(render_line(shown))
    page = render_page(report(side("run", stored)))

    assert NOTE in text
    assert "inconclusive" in text
    assert "Nothing wrong was seen, but lines 14-16" in text
    assert NOTE in page
    assert "Nothing wrong was seen, but lines 14-16" in page
    assert line["notes"] == [NOTE]
    assert line["why"][0].startswith("Nothing wrong was seen, but lines 14-16")


def test_how_a_file_was_read_is_told_to_people_and_to_programs():
    """A log that is cut off may have gone on to something better."""
    cut, stored = "The last line is cut off.", answer("wrong")
    read = stored.answer.model_copy(update={"reading": (cut,)})
    page = render_page(report(side("run", stored.model_copy(update={"answer": read}))))

    assert cut in plain_text(render_answer(read, verbose=False, show_program=False))
    assert cut in page
    assert json.loads(render_line(read))["notes"] == [cut]
