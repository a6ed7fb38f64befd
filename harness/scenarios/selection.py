"""Which scenarios of a bank a command means."""

from collections.abc import Iterable

from harness.domain.errors import UsageError
from harness.domain.scenario import Bank, Scenario
from harness.scenarios.problem import did_you_mean


def select(bank: Bank, ids: str = "all", suite: str | None = None) -> Bank:
    """The named scenarios (``all``, or ids with commas between), of one suite if one is given.

    Raises:
        UsageError: an id or a suite does not exist, or none is left.
    """
    chosen: Iterable[Scenario] = bank.scenarios
    if ids.strip() != "all":
        names = {name.strip() for name in ids.split(",") if name.strip()}
        if not names:
            raise UsageError("no scenario is named; expected an id, ids with commas, or all")
        if "all" in names:
            raise UsageError("all stands alone: name ids, or all")
        wanted = {find(bank, name).id for name in sorted(names)}
        chosen = [s for s in bank.scenarios if s.id in wanted]
    if suite is not None:
        suites = sorted({s.suite for s in bank.scenarios})
        if suite not in suites:
            raise UsageError(f"there is no suite {suite}{did_you_mean(suite, suites)}")
        chosen = [s for s in chosen if s.suite == suite]
    scenarios = tuple(chosen)
    if not scenarios:
        raise UsageError(f"none of the scenarios {ids} is in the suite {suite}")
    return bank.model_copy(update={"scenarios": scenarios})


def find(bank: Bank, name: str) -> Scenario:
    """The scenario of that id.

    Raises:
        UsageError: there is none.
    """
    for scenario in bank.scenarios:
        if scenario.id == name:
            return scenario
    hint = did_you_mean(name, (s.id for s in bank.scenarios)) or "; `harness list` names them"
    raise UsageError(f"there is no scenario {name}{hint}")
