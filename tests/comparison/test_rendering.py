"""What a person reads of a comparison."""

import json

import pytest
from rich.console import Console

from benchmarks.false_alarms import false_alarms, render_false_alarms
from harness.comparison import compare, plan
from harness.domain.plan import Rules
from harness.report.comparison import render_comparison
from harness.report.console import plain_text
from harness.report.power import render_plan
from tests.comparison.arms import FAIL, PASS, arm, trial

QUICK = Rules(simulations=200)
TEN = [f"s{i}" for i in range(10)]
RIGHT = dict.fromkeys(TEN, "+++")


def lines(old, new, programs=None, **options):
    found = compare(arm("old", old), arm("new", new, **options), QUICK, anyway=True)
    return plain_text(render_comparison(found, plain=True, programs=programs)).split("\n")


def test_the_verdict_is_one_sentence_with_effect_interval_and_p():
    """The gate stands below it."""
    said, gate, *_ = lines(RIGHT, RIGHT | dict.fromkeys(TEN[:6], "---"))

    assert said == (
        "new is worse than old: 60 points fewer right answers"
        " (95% interval -85 to -15, exact sign flip, p = 0.031, 10 scenarios)."
    )
    assert gate == "gate: 1, conclusively worse"


def test_no_difference_shown_says_what_could_have_been():
    """A reader must not take it for no difference."""
    said, seen, *_ = lines(RIGHT, RIGHT | {"s0": "+--"})

    assert said.startswith("No difference shown between old and new: -7 points (95% interval ")
    assert seen.startswith(
        "That does not mean there is none: a comparison like this shows losses of "
    )
    assert "no gain, however large," in seen


def test_each_scenario_is_a_row_with_what_could_not_be_judged():
    """And a sentence where it is not compared."""
    page = lines(RIGHT, RIGHT | {"s0": "+-?", "s1": "0!?"})

    rows = [" ".join(line.split()) for line in page]
    assert "s0 3 of 3 right 1 of 2 right, 1 inconclusive -50" in rows
    assert (
        "s1 3 of 3 right 0 of 0 right, 1 inconclusive, 1 no code, 1 unanswered not compared" in rows
    )
    assert "s1 is not compared: no trial of new could be judged" in page


def test_a_warning_stands_first():
    """Nobody reads the verdict without it."""
    assert (
        lines(RIGHT, RIGHT, model="other")[0] == "warning: the models differ: replay:toy and other"
    )


CHANGED = (
    RIGHT | {"s0": (trial(0, "+", PASS),)},
    RIGHT | {"s0": (trial(0, "-", FAIL, rationalizations=("it is \x1b[31m[bold]fine",)),)},
)


def test_what_changed_is_told_with_how_the_programs_differ():
    """Old against new with the property's sentence, and an excuse in quotation marks."""
    programs = {("old", "s0", 0): "clip\nstep\nlog", ("new", "s0", 0): "step\nlog"}
    page = "\n".join(lines(*CHANGED, programs=programs))

    assert "s0  right code: 1 of 1 -> 0 of 1\n    the program of old, trial 0" in page
    assert "        -clip\n         step\n         log\n" in page
    assert "    new, trial 0: fail: It was clipped after the step.\n" in page


def test_nothing_that_others_wrote_steers_the_terminal():
    """Markup stays markup; an escape becomes a replacement character."""
    page = "\n".join(
        lines(*CHANGED, programs={("old", "s0", 0): "a\x1b[2Jb", ("new", "s0", 0): "\x07"})
    )

    assert 's0, trial 0: "it is \N{REPLACEMENT CHARACTER}[31m[bold]fine"' in page
    assert "\x1b" not in page
    assert "\x07" not in page


@pytest.mark.parametrize("width", [30, 80, 200])
def test_answers_stand_side_by_side_on_a_terminal_of_any_width(width):
    """No line is longer than the terminal; the longer of two columns is folded."""
    found = compare(arm("old", CHANGED[0]), arm("new", CHANGED[1]), QUICK)
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        texts = {("old", "s0", 0): "x" * 300, ("new", "s0", 0): "y"}
        console.print(render_comparison(found, programs=texts))

    page = captured.get().split("\n")
    assert max(len(line.rstrip()) for line in page) <= width
    assert any("-x" in line and line.index("x") < line.find("+y") for line in page)


def test_the_record_is_dumped_whole():
    """`--json`."""
    found = compare(arm("old", RIGHT), arm("new", RIGHT), QUICK)

    assert json.loads(found.model_dump_json(indent=2))["gate"]["code"] == 0


def test_a_plan_says_what_will_be_seen_before_money_is_spent():
    """What has to change, what would be shown, and what the gate says of an unchanged skill."""
    page = plain_text(render_plan(plan(10, 3, rules=QUICK)))

    assert "at least 6 scenarios have to change, all one way" in page
    assert "a comparison like this shows losses of " in page
    assert page.endswith("(for that, a loss of 20 points must be ruled out)")


def test_false_alarms_stand_beside_the_power():
    """A gate that never says anything raises no alarm either."""
    page = plain_text(render_false_alarms([false_alarms("half", [0.5] * 10, 3, rules=QUICK)]))

    assert page.split("\n")[1].split()[:4] == ["half", "10", "x", "3"]
    assert "points" in page
