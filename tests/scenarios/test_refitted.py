"""Probes are as quiet and as loud as they are called, for programs with data of their own too."""

import pytest

from harness.domain.refitted import brings_its_data, refitted
from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace
from tests.fakes.traces import probe, update
from tests.quality.judging import SCENARIOS

ASKED = SCENARIOS["clip-after-step"]


def of_own_data(name: str, norm: float) -> ProbeTrace:
    """Updates with gradients of that size, from rows that nobody knows."""
    made = [update(i, true=norm) for i in range(3)]
    unknown = [
        u.model_copy(
            update={
                "micro_batches": tuple(
                    m.model_copy(update={"samples": None, "after_batch": None})
                    for m in u.micro_batches
                )
            }
        )
        for u in made
    ]
    return probe(name, *unknown)


def test_a_probe_that_is_not_what_it_is_called_is_run_with_another_factor() -> None:
    """A threshold of 1: norms of 0.5 are neither."""
    quiet, loud = refitted(ASKED, [of_own_data("quiet", 0.5), of_own_data("loud", 0.5)])

    was = {p.name: p.injection.factor for p in ASKED.probes}
    assert quiet.injection.factor == pytest.approx(was["quiet"] / 4)
    assert loud.injection.factor == pytest.approx(was["loud"] * 16)


def test_what_is_quiet_and_loud_already_is_not_run_again() -> None:
    assert refitted(ASKED, [of_own_data("quiet", 0.1), of_own_data("loud", 9.0)]) == ()


def test_a_program_on_the_workloads_rows_is_never_run_again() -> None:
    """Nor is one that was handed its batches, whatever it trains on then."""
    ours = probe("loud", update(true=0.5))
    assert not brings_its_data(ours)
    assert refitted(ASKED, [ours]) == ()


def test_without_a_threshold_there_is_no_size_to_reach() -> None:
    open_ = ASKED.model_copy(update={"expectations": Expectations(objectives=("sample-mean",))})
    assert refitted(open_, [of_own_data("loud", 0.5)]) == ()
