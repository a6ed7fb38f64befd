"""Which scenarios this machine can run: some train with packages that need not be installed."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec

from harness.domain.listing import ListedScenario, NotRun
from harness.domain.packages import how_to_get
from harness.domain.scenario import Bank, Scenario


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it is not."""
    return find_spec(package) is not None


def runnable(
    bank: Bank, installed: Callable[[str], bool] = is_installed
) -> tuple[Bank, tuple[NotRun, ...]]:
    """The scenarios whose packages are here, and the others with what they need."""
    left_out = not_runnable(bank.scenarios, installed)
    without = {one.scenario for one in left_out}
    here = tuple(s for s in bank.scenarios if s.id not in without)
    return bank.model_copy(update={"scenarios": here}), left_out


def not_runnable(
    scenarios: Iterable[Scenario | ListedScenario],
    installed: Callable[[str], bool] = is_installed,
) -> tuple[NotRun, ...]:
    """Those whose packages are not here, with what they need."""
    return tuple(found for s in scenarios if (found := _not_run(s, installed)))


def _not_run(
    scenario: Scenario | ListedScenario, installed: Callable[[str], bool]
) -> NotRun | None:
    missing = [package for package in scenario.requires if not installed(package)]
    return NotRun(scenario=scenario.id, why=how_to_get(missing)) if missing else None
