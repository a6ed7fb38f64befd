"""A scenario as the extraction looks at it."""

from pathlib import Path

from harness.domain.scenario import Scenario
from harness.scenarios.selection import select
from tests.bank import BANK as WHOLE

ROOT = Path(__file__).resolve().parents[2]
BANK = select(WHOLE, suite="refactor")


def scenario(*, measures: bool = False) -> Scenario:
    """One about training, or one that asks for a measurement."""
    return next(s for s in BANK.scenarios if s.expectations.measures == measures)
