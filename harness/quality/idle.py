"""Properties that pass where no mutant shows what they are for."""

from collections.abc import Iterator

from harness.domain.quality import IdleProperty, MutantResult
from harness.domain.scenario import Bank, Scenario
from harness.domain.verdict import Level


def idle_properties(bank: Bank, mutants: tuple[MutantResult, ...]) -> tuple[IdleProperty, ...]:
    """By scenario: listed properties that never are the only one to fail; advisory ones beside it are no
    rival. What the posted loop has to fail is needed for that.

    Only scenarios that have mutants count: without programs to derive from, nothing can be shown.
    """
    tried = {m.scenario for m in mutants}
    levels = {(s.id, name): level for s in bank.scenarios for name, level in _levels(s)}
    advisory = {place for place, level in levels.items() if level == "advisory"}
    alone: set[tuple[str, str]] = set()
    for mutant in mutants:
        killers = [(mutant.scenario, name) for name in mutant.killed_by]
        counting = [killer for killer in killers if killer not in advisory] or killers
        alone.update(counting if len(counting) == 1 else ())
    return tuple(
        IdleProperty(scenario=scenario, property=name, level=level)
        for (scenario, name), level in levels.items()
        if scenario in tried and (scenario, name) not in alone
    )


def _levels(scenario: Scenario) -> Iterator[tuple[str, Level]]:
    for rule in scenario.properties:
        if rule.level != "allowed" and rule.id not in scenario.buggy_fails:
            yield rule.id, rule.level
