"""One warm jail for all programs of a file."""

from collections.abc import Iterator

import pytest

from harness.sandbox.executor import JailedExecutor


@pytest.fixture(scope="module")
def executor() -> Iterator[JailedExecutor]:
    """Runs programs, one after the other."""
    with JailedExecutor() as jailed:
        yield jailed
