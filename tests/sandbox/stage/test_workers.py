"""Workers that are played draw what real ones draw."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.stage.draws import LOADERS

SCRIPT = Path(__file__).with_name("draws.py")


@pytest.fixture(scope="module")
def drawn() -> dict[str, dict[str, object]]:
    """What real workers drew, and what played ones drew, by loader."""
    command = [sys.executable, "-W", "ignore", str(SCRIPT)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    found: dict[str, dict[str, object]] = json.loads(ran.stdout)
    return found


@pytest.mark.full  # real workers take their time
@pytest.mark.parametrize("loader", LOADERS)
def test_a_played_worker_draws_what_a_process_draws_bit_for_bit(drawn, loader):
    """Rows, their order, five kinds of random numbers, counters, seeds and ids; and what is left of the
    main process's own random numbers.
    """
    assert drawn["played"][loader] == drawn["real"][loader]
