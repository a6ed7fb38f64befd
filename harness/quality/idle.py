"""Properties that pass where no mutant shows what they are for."""

from harness.domain.quality import IdleProperty, MutantResult
from harness.domain.scenario import Bank


def idle_properties(bank: Bank, mutants: tuple[MutantResult, ...]) -> tuple[IdleProperty, ...]:
    """By scenario: properties that never are the only one to fail; advisory ones beside it are no rival.

    Only scenarios that have mutants count: without programs to derive from, nothing can be shown.
    """
    tried = {m.scenario for m in mutants}
    advisory = {
        (s.id, rule.id) for s in bank.scenarios for rule in s.properties if rule.level == "advisory"
    }
    alone: set[tuple[str, str]] = set()
    for mutant in mutants:
        killers = [(mutant.scenario, name) for name in mutant.killed_by]
        counting = [killer for killer in killers if killer not in advisory] or killers
        alone.update(counting if len(counting) == 1 else ())
    return tuple(
        IdleProperty(scenario=scenario.id, property=rule.id, level=rule.level)
        for scenario in bank.scenarios
        for rule in scenario.properties
        if scenario.id in tried and (scenario.id, rule.id) not in alone
    )
