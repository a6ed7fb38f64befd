"""One check of each skill for all files of this folder."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from harness.checking import check_skill
from harness.domain.check import CheckReport

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def checked(warm) -> Callable[[Path], CheckReport]:
    """The report on a folder or a file; each is checked once, with time enough on a busy machine."""
    return cache(lambda path: check_skill(path, warm, jobs=2, thorough=True))
