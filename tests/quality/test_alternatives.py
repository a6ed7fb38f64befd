"""Right loops, however they are spelt, are judged right."""

import pytest

from harness.domain.scenario import Scenario
from tests.bank import BANK
from tests.quality.judging import SCENARIOS, Court

ALTERNATIVES = {
    f"{scenario.id}, {each.name}": (scenario, each.program)
    for scenario in SCENARIOS.values()
    for each in scenario.alternatives
}


@pytest.mark.parametrize("name", list(ALTERNATIVES)[::30])
def test_a_right_loop_is_right_however_it_is_spelt(court: Court, name: str) -> None:
    """All required properties pass and no guard fails. The other spellings of the bank are judged by
    ``test_the_judge_has_no_complaint``, under ``--full``.
    """
    scenario, program = ALTERNATIVES[name]
    found = court.judged(scenario, program)

    assert found.code == "right", found.story()


MANY = {"all-three-techniques": 8, "ddp-accumulation-no-sync": 8}
"""Scenarios that ask for more spellings than others, since they bring several techniques together."""


@pytest.mark.parametrize("scenario", BANK.scenarios, ids=lambda s: s.id)
def test_every_scenario_brings_several_spellings(scenario: Scenario) -> None:
    """None of them is one of the bank's two programs over again."""
    programs = {each.program for each in scenario.alternatives}

    assert len(programs - {scenario.buggy, scenario.reference}) >= MANY.get(scenario.id, 4)


def test_no_spelling_is_in_the_bank_twice() -> None:
    """A copy would count as one more spelling and show nothing."""
    every = [each.program for s in BANK.scenarios for each in s.alternatives]

    assert len(set(every)) == len(every)
