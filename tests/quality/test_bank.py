"""The bank, judged: every posted loop fails what it declares, every fix is right, wherever it runs."""

from typing import NamedTuple

import pytest

from tests.quality.judging import LARGER, SCENARIOS, Court, enlarged


class Place(NamedTuple):
    """Where a program is judged."""

    seed: int
    """Offset of the workloads' seeds."""
    larger: bool = False
    """Whether at the second size."""


USUAL = "seed 0"
PLACES = {**{f"seed {seed}": Place(seed) for seed in range(5)}, "larger": Place(0, larger=True)}

FIRST_OF = {name: s.id for s in reversed(SCENARIOS.values()) for name in s.buggy_fails}
"""The first scenario whose posted loop fails a property. `make run` judges all of them, in seconds."""


SELDOM = ("seed 3", "seed 4")


def _marks(scenario: str, place: str) -> list[pytest.MarkDecorator]:
    if place in SELDOM:
        return [pytest.mark.every]
    return [] if place == USUAL and scenario in FIRST_OF.values() else [pytest.mark.full]


everywhere = pytest.mark.parametrize(
    ("scenario", "place"),
    [
        pytest.param(scenario, place, marks=_marks(scenario, place))
        for scenario in SCENARIOS
        for place in PLACES
    ],
)


@pytest.mark.whole
@everywhere
def test_the_posted_loop_fails_exactly_what_it_declares(
    court: Court, scenario: str, place: str
) -> None:
    """Every required property and guard that fails is declared, and every declared one fails."""
    asked = SCENARIOS[scenario]
    found = court.judged(asked, asked.buggy, seed=PLACES[place].seed, larger=PLACES[place].larger)

    assert found.failed == set(asked.buggy_fails), found.story()
    assert found.code == "wrong"


@everywhere
def test_the_fix_passes_every_required_property(court: Court, scenario: str, place: str) -> None:
    """The reference is right: all required properties pass, and no guard fails."""
    asked = SCENARIOS[scenario]
    found = court.judged(
        asked, asked.reference, seed=PLACES[place].seed, larger=PLACES[place].larger
    )

    assert found.code == "right", found.story()


@pytest.mark.every
@pytest.mark.parametrize("which", ["buggy", "reference"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_verdict_is_the_same_at_five_seeds_and_two_sizes(
    court: Court, scenario: str, which: str
) -> None:
    """What counts against a program is a matter of it alone, and so is what its fix passes. Of the rest
    the data decide which properties find something to judge.
    """
    asked = SCENARIOS[scenario]
    program = asked.buggy if which == "buggy" else asked.reference
    usual = court.judged(asked, program)

    for name, place in PLACES.items():
        found = court.judged(asked, program, seed=place.seed, larger=place.larger)
        story = f"{name}\n{found.story()}"
        assert (found.code, found.failed) == (usual.code, usual.failed), story
        for rule in asked.properties if which == "reference" else ():
            assert found.outcomes[rule.id] == usual.outcomes[rule.id], story


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_second_size_is_larger_in_everything_that_is_a_size(scenario: str) -> None:
    """Every probe of every scenario has more samples in a batch and wider layers there."""
    for probe in SCENARIOS[scenario].probes:
        usual = SCENARIOS[scenario].workload_of(probe)
        larger = enlarged(usual).parameters.model_dump()
        before = usual.parameters.model_dump()
        changed = {name for name in before if larger[name] != before[name]}

        assert changed == {name for name in LARGER[usual.name] if before[name]}
        assert all(larger[name] > before[name] for name in changed)
