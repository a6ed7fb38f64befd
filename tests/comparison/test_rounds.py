"""Looking again and again, with error rates that hold over all looks together."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.comparison import compare, looks_of, rounds_measured, shapes
from harness.comparison.paired import Counts
from harness.comparison.rounds import Looks
from harness.domain.plan import Rules
from tests.comparison.arms import arm, scripted

QUICK = Rules(simulations=200)
TEN = [f"s{i}" for i in range(10)]
RIGHT = dict.fromkeys(TEN, "+++++")


def against(old, new, most=5):
    arms = (arm(name, said, rounds=most) for name, said in (("old", old), ("new", new)))
    return compare(*(numbered(one) for one in arms), QUICK)


def numbered(one):
    """Trials of asked agents count from 1."""
    again = {
        s.scenario: tuple(t.model_copy(update={"trial": n}) for n, t in enumerate(s.trials, 1))
        for s in one.scenarios
    }
    scenarios = tuple(s.model_copy(update={"trials": again[s.scenario]}) for s in one.scenarios)
    return one.model_copy(update={"scenarios": scenarios})


def called(paths, alpha=0.05):
    """Whether each of many comparisons is called a difference at any look."""
    looks, (trials, rows, scenarios) = range(1, len(paths) + 1), paths.shape
    engine = Looks(scenarios, looks, alpha, 0.2)
    found = np.zeros(rows, dtype=bool)
    for number in looks:
        many = np.full(scenarios, trials)
        counts = Counts(paths[number - 1] * 0, paths[number - 1], many, many)
        found |= engine.look(counts, np.arange(scenarios)).shown
    return found


@pytest.mark.parametrize(("most", "looks"), [(1, (1,)), (5, (1, 2, 3, 4, 5)), (25, (3, 6, 9, 12, 15, 18, 21, 24, 25))])  # fmt: skip
def test_a_comparison_is_looked_at_after_each_trial_and_of_many_after_several(most, looks):
    """The last look is at everything."""
    assert looks_of(most) == looks


@given(st.lists(st.lists(st.integers(-1, 1), min_size=4, max_size=4), min_size=7, max_size=7))
def test_of_all_assignments_of_signs_at_most_alpha_are_called_at_any_look(steps):
    """The promise itself, counted: whatever was seen, swapping arms calls no more than 5 %."""
    path = np.cumsum(np.asarray(steps), axis=1).T  # (looks, scenarios)
    signs = np.asarray(list(itertools.product((1, -1), repeat=7)))

    assert called(path[:, None, :] * signs).mean() <= 0.05


def test_one_look_is_the_test_of_a_fixed_plan():
    """Six of ten are needed, five are not enough."""
    lost = [{**RIGHT, **dict.fromkeys(TEN[:count], "-----")} for count in (6, 5)]
    one = [compare(arm("old", RIGHT), arm("new", new), QUICK) for new in lost]
    rounds = [
        against(dict.fromkeys(TEN, "+"), {k: v[0] for k, v in new.items()}, 1) for new in lost
    ]

    assert [r.says for r in rounds] == [o.says for o in one] == ["worse", "no difference shown"]
    assert rounds[0].estimate.p == pytest.approx(one[0].estimate.p)


def test_a_loss_of_everything_is_worse_after_the_first_round():
    """What was asked after it does not count."""
    found = against(RIGHT, dict.fromkeys(TEN, "-----"))

    assert (found.rounds.stop, found.rounds.trials, found.gate.code) == ("worse", 1, 1)
    assert found.new.tally.wrong == 10


def test_equal_answers_stop_where_a_loss_of_the_margin_is_ruled_out():
    """And where no difference is to be expected: before the last round."""
    found = against(dict.fromkeys(TEN, "+" * 10), dict.fromkeys(TEN, "+" * 10), 10)

    assert (found.rounds.stop, found.gate.code) == ("not worse", 0)
    assert 1 < found.rounds.trials < 10


def test_few_scenarios_that_show_nothing_are_asked_no_further():
    """Four can show nothing, however often they are asked."""
    old, new = (dict.fromkeys(TEN[:4], said) for said in ("+-" * 5, "-+" * 5))
    found = against(old, new, 10)

    assert found.rounds.stop in ("hopeless", "all asked")
    assert found.gate.code == 4


def test_a_round_that_was_not_asked_in_full_is_not_looked_at():
    """Otherwise a run that was broken off would be looked at once more."""
    part = dict.fromkeys(TEN, "++") | {"s9": "+"}
    found = against(dict.fromkeys(TEN, "++"), part)

    assert [look.trials for look in found.rounds.looks] == [1]
    assert found.rounds.stop == "goes on"


def test_answers_that_nobody_can_judge_do_not_end_it_as_not_worse():
    """The strict count is looked at as well."""
    found = against(dict.fromkeys(TEN, "+" * 10), dict.fromkeys(TEN, "+" + "0" * 9), 10)

    assert found.gate.code == 4


def test_arms_asked_in_rounds_and_at_once_are_compared_with_a_warning():
    """One look at the end of many is not one look."""
    old, new = arm("old", RIGHT, rounds=5), arm("new", RIGHT)

    (said,) = compare(old, new, QUICK).warnings
    assert "asked in rounds" in said


@pytest.mark.parametrize("shape", shapes(10))
def test_equal_skills_raise_an_alarm_at_most_as_often_as_promised_over_all_looks(shape):
    """And the planned loss is seen as often as a fixed plan sees it, with fewer questions."""
    found = rounds_measured(shape, shapes(10)[shape], 6, rules=Rules(seed=11), comparisons=1000)

    assert found.upper <= 0.075
    assert found.let_through / found.comparisons <= 0.04
    assert found.planned.power >= 0.8
    assert found.spared >= 0.2


@pytest.mark.full
@pytest.mark.parametrize("shape", shapes(10))
def test_scripted_agents_in_rounds_raise_no_more_alarms(shape):
    """The whole way from trials to the gate."""
    rates, rules = shapes(10)[shape], Rules(simulations=1)
    alarms = 0
    for i in range(200):
        pair = (numbered(scripted(n, rates, 6, 2 * i + k)) for k, n in enumerate(("old", "new")))
        old, new = (one.model_copy(update={"rounds": 6}) for one in pair)
        alarms += compare(old, new, rules).says != "no difference shown"

    assert alarms / 200 <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5
