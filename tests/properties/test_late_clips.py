"""A clip has to act on whatever exceeds its threshold, and on nothing that is chosen otherwise."""

import pytest

from harness.domain.trace import Update
from harness.domain.verdict import Verdict, passed
from harness.properties.judging.late_clips import convicted_of_waiting
from tests.fakes import traces
from tests.fakes.traces import expect, probe, program, quiet_and_loud, update

GLOBAL = "clip-global-norm"
NORMS = (25.0, 2.5, 10.0, 4.0, 40.0, 1.6, 6.0, 2500.0)


def arriving(rule) -> tuple[Update, ...]:
    """One update for each norm; ``rule`` says what the optimizer gets of it."""
    return tuple(update(i, true=n, consumed=rule(n)) for i, n in enumerate(NORMS))


def said(rule, property_: str = GLOBAL, outcome: str = "returned", **expectations) -> Verdict:
    graded = probe("graded", *arriving(rule), program=program(outcome))
    trace = quiet_and_loud().model_copy(update={"graded": graded})
    return convicted_of_waiting(
        passed(property_, "Nothing was seen."), trace, expect(**expectations)
    )


@pytest.mark.parametrize(
    "late",
    [
        lambda norm: 1.0 if norm > 10.0 else norm,
        lambda norm: 1.0 if norm > 2.0 else norm,
        lambda norm: 1.0 if norm < 100.0 else norm,
    ],
    ids=["ten times", "twice", "no spikes"],
)
def test_a_clip_that_leaves_out_some_of_what_exceeds_its_threshold_is_wrong(late):
    """It waits for ten times the threshold, or for twice; or it lets spikes through."""
    verdict = said(late)

    assert verdict.outcome == "fail"
    assert "depends on something else" in verdict.sentence


@pytest.mark.parametrize(
    "right",
    [
        lambda norm: min(norm, 1.0),
        lambda norm: 1.0 if norm > 1.2 else norm,  # what is that close cannot do harm
        lambda norm: norm,  # that nothing is clipped, others say
        lambda norm: min(norm, 0.2 * norm),
    ],
    ids=["each", "nearly each", "none", "a factor"],
)
def test_a_probe_that_only_convicts_says_nothing_of_other_loops(right):
    assert said(right).outcome == "pass"


def test_a_threshold_that_follows_the_norms_may_be_anywhere_in_the_range_that_is_accepted():
    """Some of its updates arrive at the range's edge, and larger ones whole."""

    def adapting(norm):
        return 0.5 if norm in (25.0, 10.0) else min(norm, 0.7 * norm if norm > 30.0 else 4.5)

    assert said(adapting, max_norm=None, max_norm_between=(0.5, 5.0)).outcome == "pass"


def test_only_the_property_about_the_norm_is_convicted_and_only_by_a_whole_run():
    waits = lambda norm: 1.0 if norm > 10.0 else norm  # noqa: E731 - named for both calls

    assert said(waits, property_="clip-before-step").outcome == "pass"
    assert said(waits, outcome="raised").outcome == "pass"
    bare = traces.trace(probe("loud", *arriving(waits)))
    assert convicted_of_waiting(passed(GLOBAL, ""), bare, expect()).outcome == "pass"
