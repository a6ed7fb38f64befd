"""What is said about two runs, and what a program is told to do about it."""

import pytest

from harness.comparison import compare
from harness.domain.comparison import Comparison
from harness.domain.errors import UsageError
from harness.domain.plan import Rules
from tests.comparison.arms import FAIL, PASS, arm, scripted, trial

QUICK = Rules(simulations=200)
TEN = [f"s{i}" for i in range(10)]
RIGHT = dict.fromkeys(TEN, "+++")


def against(old, new, **options):
    return compare(arm("old", old), arm("new", new), QUICK, **options)


def test_six_scenarios_lost_are_worse_and_stop_the_gate():
    """The least that ten scenarios can show; five are not enough."""
    six = against(RIGHT, RIGHT | dict.fromkeys(TEN[:6], "---"))
    five = against(RIGHT, RIGHT | dict.fromkeys(TEN[:5], "---"))

    assert (six.says, six.gate.code, six.estimate.p) == ("worse", 1, 0.03125)
    assert (five.says, five.gate.code, five.estimate.p) == ("no difference shown", 4, 0.0625)


def test_better_passes_the_gate():
    """The same the other way round."""
    found = against(dict.fromkeys(TEN, "--+"), RIGHT)

    assert (found.says, found.gate.code) == ("better", 0)
    assert found.estimate.low >= 0


def test_equal_answers_pass_only_where_a_loss_of_the_margin_is_ruled_out():
    """Ten scenarios with three trials rule out 20 points, with one trial they do not."""
    three, one = against(RIGHT, RIGHT), against(*[dict.fromkeys(TEN, "+")] * 2)

    assert (three.says, three.gate.code) == ("no difference shown", 0)
    assert (one.says, one.gate.code, one.estimate.method) == (
        "no difference shown",
        4,
        "exact McNemar",
    )


def test_what_could_have_been_seen_is_said_and_a_ceiling_leaves_no_gain():
    """An agent that is right every time can only get worse."""
    reach = against(RIGHT, RIGHT).reach

    assert 0.3 < reach.loss.effect < 0.5
    assert reach.gain is None


def test_what_could_not_be_judged_is_no_wrong_answer():
    """It leaves the denominator, and is counted where one can see it."""
    found = against(RIGHT, RIGHT | {"s0": "+??", "s1": "+0!"})

    assert found.estimate.effect == 0
    assert found.new.tally.model_dump() == {
        "right": 26, "wrong": 0, "inconclusive": 2, "none": 1, "unanswered": 1,
    }  # fmt: skip


def test_a_scenario_without_a_judged_trial_is_not_compared_and_says_so():
    """In one arm is enough."""
    found = against(RIGHT, RIGHT | {"s0": "???"})

    assert found.estimate.scenarios == 9
    assert [line.scenario for line in found.scenarios if line.dropped] == ["s0"]
    assert found.scenarios[0].dropped == "no trial of new could be judged"


def test_answers_that_nobody_can_judge_do_not_pass_the_gate():
    """A skill after which agents propose no code would otherwise lose nothing."""
    found = against(RIGHT, RIGHT | dict.fromkeys(TEN[:7], "+00"))

    assert (found.says, found.strict.says, found.gate.code) == ("no difference shown", "worse", 4)


def test_an_old_skill_that_could_not_be_judged_does_not_let_a_loss_pass():
    """Counting the old arm's open answers as not right would hide what the judged ones show."""
    found = against(dict.fromkeys(TEN, "+??"), RIGHT | dict.fromkeys(TEN[:5], "++-"))

    assert (found.says, found.strict.says, found.gate.code) == ("no difference shown", "better", 4)


def test_answers_that_never_came_do_not_pass_the_gate():
    """They are nobody's fault, and nothing is known about them."""
    found = against(RIGHT, RIGHT | {"s3": "!!!"})

    assert (found.gate.code, found.gate.why) == (4, "not answered in both runs: s3")


def test_runs_without_a_common_scenario_are_no_comparison():
    """Nothing is estimated; the gate cannot tell."""
    found = against({"a": "+"}, {"b": "+"})

    assert (found.estimate, found.says, found.gate.code) == (None, "no difference shown", 4)
    assert [line.dropped for line in found.scenarios] == ["not asked in new", "not asked in old"]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("model", "the models differ: replay:toy and other"),
        ("bank_digest", "the banks differ: bank and other"),
        ("judge", "the judges differ: none and other"),
        ("harness_version", "the harness versions differ: 0 and other"),
    ],
)
def test_runs_that_differ_in_more_than_the_skill_are_refused(field, said):
    """With the reason; --anyway turns it into a warning."""
    old, new = arm("old", RIGHT), arm("new", RIGHT, **{field: "other"})

    with pytest.raises(UsageError, match=f"not comparable: {said}"):
        compare(old, new, QUICK)
    assert compare(old, new, QUICK, anyway=True).warnings == (said,)


def test_a_comparison_of_a_skill_with_itself_is_recognised():
    """A comparison of a skill with itself is allowed and says what it is."""
    (said,) = compare(
        arm("a", RIGHT, skill_digest="x"), arm("b", RIGHT, skill_digest="x"), QUICK
    ).warnings

    assert "same skill" in said


def test_a_change_names_two_answers_that_show_it():
    """Of one trial number where there are, each with what the property said."""
    old = RIGHT | {"s0": (trial(0, "+", PASS), trial(1, "-", FAIL), trial(2, "+", PASS))}
    new = RIGHT | {"s0": (trial(0, "+", PASS), trial(1, "-", FAIL), trial(2, "-", FAIL))}

    code, clip = against(old, new).changes

    assert (code.name, code.old_bad, code.new_bad) == ("code", (1,), (1, 2))
    assert (clip.scenario, clip.name) == ("s0", "clip-before-step")
    assert (clip.example.old_trial, clip.example.new_trial) == (2, 2)
    assert (clip.example.old_verdict, clip.example.new_verdict) == (PASS, FAIL)


def test_a_line_of_the_rubric_that_is_met_less_often_is_a_change():
    """Unassessed lines are none."""
    met = {"a": "met", "b": "unassessed"}
    old = RIGHT | {"s0": (trial(0, "+", criteria=met),)}
    new = RIGHT | {"s0": (trial(0, "+", criteria=met | {"a": "not_met"}),)}

    (change,) = against(old, new).changes

    assert (change.kind, change.name, change.old_good, change.new_bad) == (
        "criterion",
        "a",
        (0,),
        (0,),
    )


def test_a_new_rationalization_is_one_that_the_old_arm_never_used_there():
    """Said twice it is one, with both trials."""
    said = trial(0, "+", rationalizations=("it is only a warning",))
    again = trial(1, "+", rationalizations=("it is only a warning", "nobody does that"))
    found = against({"a": (said,), "b": "+"}, {"a": (said, again), "b": (said, again)})

    texts = [(one.scenario, one.text, one.trials) for one in found.rationalizations]
    assert texts == [
        ("a", "nobody does that", (1,)),
        ("b", "it is only a warning", (0, 1)),
        ("b", "nobody does that", (1,)),
    ]


def test_a_property_is_tested_over_its_scenarios_and_corrected_for_the_others():
    """Three trials a scenario can never show anything alone, so they are not tested."""
    old = {name: (trial(0, "+", PASS), trial(1, "+", PASS), trial(2, "+", PASS)) for name in TEN}
    new = {name: (trial(0, "-", FAIL), trial(1, "+", PASS), trial(2, "-", FAIL)) for name in TEN}
    found = against(old, new)

    assert [line.p for line in found.scenarios] == [None] * 10
    (clip,) = found.properties
    assert (clip.scenarios, clip.old, clip.new) == (10, 1.0, pytest.approx(1 / 3))
    assert clip.p == clip.adjusted == 2 / 2**10


def test_a_property_of_five_scenarios_is_shown_and_not_tested():
    """All five, all one way, could not show anything."""
    old, new = ({name: (trial(0, "+", said),) for name in TEN[:5]} for said in (PASS, FAIL))

    (clip,) = against(old, new).properties

    assert (clip.old, clip.new, clip.p, clip.adjusted) == (1, 0, None, None)


def test_four_trials_let_a_scenario_be_tested():
    """4 of 4 against 0 of 4 is .029, times the number of tests."""
    found = against(dict.fromkeys(TEN, "++++"), dict.fromkeys(TEN, "++++") | {"s0": "----"})

    assert found.scenarios[0].p == pytest.approx(0.0286, abs=1e-4)
    assert found.scenarios[0].adjusted == pytest.approx(0.286, abs=1e-3)


def test_the_same_runs_give_the_same_bytes_and_survive_json():
    """Nothing depends on the clock, the machine or an unseeded draw."""
    arms = scripted("old", [0.6] * 10, 3, 1), scripted("new", [0.4] * 10, 3, 2)
    text = compare(*arms).model_dump_json()

    assert compare(*arms).model_dump_json() == text
    assert Comparison.model_validate_json(text).model_dump_json() == text


def test_an_arm_that_holds_a_scenario_twice_is_refused():
    """It would be counted once."""
    one = arm("a", {"s": "+"})
    with pytest.raises(ValueError, match="a holds a scenario twice"):
        type(one).model_validate(one.model_dump() | {"scenarios": one.scenarios * 2})
