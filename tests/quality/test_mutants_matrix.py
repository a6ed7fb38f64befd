"""The whole of quality, on the bank that comes with this checkout: minutes, so under `--every` only;
under `--full` on a quarter of the scenarios.
"""

import os
from pathlib import Path

import pytest

from harness.instruments import jail_and_oracle
from harness.quality.judging import QualityPlan, judge_the_judge
from harness.quality.operators import OPERATORS
from harness.scenarios import default_bank, load_bank
from tests.bank import BANK

PAGE = Path(__file__).parents[2] / "docs" / "kill-matrix.md"


@pytest.mark.full
def test_the_committed_matrix_speaks_of_every_scenario_and_operator() -> None:
    """After a change of either: `make kill-matrix`."""
    page = PAGE.read_text()

    assert [s.id for s in BANK.scenarios if s.id not in page] == []
    assert [operator.id for operator in OPERATORS if operator.id not in page] == []


@pytest.mark.parametrize(
    "share", [pytest.param(4, marks=pytest.mark.full), pytest.param(1, marks=pytest.mark.every)]
)
def test_the_judge_has_no_complaint(share: int) -> None:
    """No mutant survives, every alternative is right, no cheat is. Operators meet each reference and
    one alternative of each scenario; `make quality` takes four, `make kill-matrix` all: with so few
    of them a property may look idle.
    """
    folder = default_bank()
    bank = load_bank(folder)
    asked = bank.model_copy(update={"scenarios": bank.scenarios[::share]})
    plan = QualityPlan(folder, jobs=os.cpu_count() or 1, depth=1)
    report = judge_the_judge(asked, plan, jail_and_oracle)
    assert len(report.alternatives) >= 4 * len(report.scenarios)
    assert report.faults == ()
    assert [c for c in report.complaints if "kills no mutant" not in c] == []
