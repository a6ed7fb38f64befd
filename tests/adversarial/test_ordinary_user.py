"""The jail holds for an ordinary user too, who has to ask for every guard in another way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
SUITE = ["tests/adversarial/test_jail.py", "tests/adversarial/test_life_inside.py"]


@pytest.mark.full
def test_all_attacks_fail_for_an_ordinary_user():
    """The whole suite of the jail again, without root; there is no need where this is no root."""
    if os.geteuid() != 0:
        return
    command = [sys.executable, "-m", "tests.fakes.ordinary_user", sys.executable]
    done = subprocess.run(
        [*command, *PYTEST, *SUITE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "Error: unshare" in done.stderr or "cannot bind" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.splitlines()[-1]}")

    assert " passed" in done.stdout
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
