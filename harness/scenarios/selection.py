"""Which scenarios of a bank a command means."""

from collections.abc import Sequence
from typing import TypeVar

from harness.domain.errors import UsageError
from harness.domain.listing import ListedScenario
from harness.domain.scenario import Bank, Scenario
from harness.scenarios.problem import did_you_mean

Known = TypeVar("Known", bound=Scenario | ListedScenario)


def select(bank: Bank, ids: str = "all", suite: str | None = None) -> Bank:
    """The named scenarios (``all``, or ids with commas between), of one suite if one is given.

    Raises:
        UsageError: an id or a suite does not exist, or none is left.
    """
    part = bank if suite is None else _of_suite(bank, suite)
    if ids.strip() == "all":
        return part
    names = sorted({name.strip() for name in ids.split(",") if name.strip()})
    if not names:
        raise UsageError("no scenario is named; expected an id, ids with commas, or all")
    if "all" in names:
        raise UsageError("all stands alone: name ids, or all")
    wanted = {find(bank, name).id for name in names}
    chosen = tuple(s for s in part.scenarios if s.id in wanted)
    if not chosen:
        find(part, names[0])
    return part.model_copy(update={"scenarios": chosen})


def of_suite(scenarios: Sequence[Known], suite: str) -> tuple[Known, ...]:
    """Those of one suite.

    Raises:
        UsageError: there is none of that name.
    """
    suites = sorted({s.suite for s in scenarios})
    if suite not in suites:
        raise UsageError(f"there is no suite {suite}{did_you_mean(suite, suites)}")
    return tuple(s for s in scenarios if s.suite == suite)


def _of_suite(bank: Bank, suite: str) -> Bank:
    chosen = of_suite(bank.scenarios, suite)
    others = {s.id: s.suite for s in bank.scenarios if s.suite != suite}
    return bank.model_copy(update={"scenarios": chosen, "elsewhere": others})


def find(bank: Bank, name: str) -> Scenario:
    """The scenario of that id.

    Raises:
        UsageError: there is none, or it is in a suite that was left out.
    """
    for scenario in bank.scenarios:
        if scenario.id == name:
            return scenario
    if name in bank.elsewhere:
        suite = bank.elsewhere[name]
        raise UsageError(
            f"{name} is in the suite {suite}: give --suite {suite}, or leave out --suite"
        )
    known = (*(s.id for s in bank.scenarios), *bank.elsewhere)
    hint = did_you_mean(name, known) or "; `harness list` names them"
    raise UsageError(f"there is no scenario {name}{hint}")
