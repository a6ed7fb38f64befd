"""Whole scripts beside the data on which their writer ran them: pictures, sounds, rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import harness

SET = Path(__file__).parent / "material/outside/scripts-twelfth"
LABELS = yaml.safe_load((SET / "labels.yaml").read_text())
READS = ("04-sprite-gan", "18-keyword-spotting", "19-cell-unet", "23-arcface-products")
"""Those whose data nobody can guess: pictures and rows in archives, sounds in folders."""

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def grader() -> Iterator[harness.Grader]:
    with harness.Grader(jobs=1) as opened:
        yield opened


@pytest.mark.parametrize("name", READS)
def test_a_right_script_beside_its_own_data_is_right(grader: harness.Grader, name: str) -> None:
    right = next(f for f in LABELS if f.startswith(name) and LABELS[f]["code"] == "right")

    graded = grader.grade(SET / right)

    assert (graded.code, graded.reasons) == ("right", ())
