"""Right loops, however they are spelt, are judged right."""

import pytest

from tests.quality.judging import SCENARIOS, Court

ALTERNATIVES = {
    f"{scenario.id}, {each.name}": (scenario, each.program)
    for scenario in SCENARIOS.values()
    for each in scenario.alternatives
}


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_a_right_loop_is_right_however_it_is_spelt(court: Court, name: str) -> None:
    """All required properties pass and no guard fails, for every spelling in the bank."""
    scenario, program = ALTERNATIVES[name]
    found = court.judged(scenario, program)

    assert found.code == "right", found.story()


@pytest.mark.parametrize(
    ("scenario", "least"),
    [
        ("all-three-techniques", 8),
        ("ddp-accumulation-no-sync", 8),
        ("clipping-overhead", 4),
        ("conflicting-advice", 4),
        ("lightning-clipping", 4),
        ("nan-after-clipping", 4),
        ("padding-and-accumulation", 4),
        ("paper-without-clipping", 4),
        ("parameter-groups", 4),
        ("small-gradients-still-learning", 4),
    ],
)
def test_a_scenario_brings_several_spellings(scenario: str, least: int) -> None:
    """None of them is one of the bank's two programs over again."""
    asked = SCENARIOS[scenario]
    programs = {each.program for each in asked.alternatives}

    assert len(programs - {asked.buggy, asked.reference}) >= least
