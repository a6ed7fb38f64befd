"""One jail and one oracle for all tests of a file."""

from collections.abc import Iterator

import pytest

from harness.sandbox.executor import JailedExecutor
from tests.quality.judging import Court, open_court


@pytest.fixture(scope="module")
def court() -> Iterator[Court]:
    """Executes, measures and judges; remembers what it has judged."""
    with JailedExecutor(parallel=2) as executor:
        yield open_court(executor)
