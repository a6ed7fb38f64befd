"""The whole of quality, on the bank that comes with this checkout: minutes, so under `--full` only."""

import os
from pathlib import Path

import pytest

from harness.quality.judging import Plan, judge_the_judge
from harness.report.quality import render_kill_matrix
from harness.runner import jail_and_oracle
from harness.scenarios import default_bank, load_bank

PAGE = Path(__file__).parents[2] / "docs" / "kill-matrix.md"


@pytest.mark.full
@pytest.mark.slow
def test_the_judge_has_no_complaint_and_the_committed_matrix_is_what_a_run_gives() -> None:
    """No mutant survives, every alternative is right, no cheat is; after a change, `make kill-matrix`."""
    folder = default_bank()
    plan = Plan(folder, jobs=os.cpu_count() or 1)
    report = judge_the_judge(load_bank(folder), plan, jail_and_oracle)
    assert report.faults == ()
    assert report.complaints == ()
    assert PAGE.read_text() == render_kill_matrix(report)
