"""Properties that pass where no mutant shows what they are for."""

from harness.domain.quality import IdleProperty, MutantResult
from harness.domain.scenario import Bank


def idle_properties(bank: Bank, mutants: tuple[MutantResult, ...]) -> tuple[IdleProperty, ...]:
    """By scenario: properties that never are the only one to fail.

    Only scenarios that have mutants count: without programs to derive from, nothing can be shown.
    """
    tried = {m.scenario for m in mutants}
    alone = {(m.scenario, m.killed_by[0]) for m in mutants if len(m.killed_by) == 1}
    return tuple(
        IdleProperty(scenario=scenario.id, property=rule.id, level=rule.level)
        for scenario in bank.scenarios
        for rule in scenario.properties
        if scenario.id in tried and (scenario.id, rule.id) not in alone
    )
