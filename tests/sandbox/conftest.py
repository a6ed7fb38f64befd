"""One warm jail for all tests of this folder."""

from collections.abc import Iterator

import pytest

from harness.sandbox.pool import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Two jobs at a time, with a worker that only runs the program."""
    with Sandbox(worker="tests.fakes.exec_worker", parallel=2) as running:
        yield running
