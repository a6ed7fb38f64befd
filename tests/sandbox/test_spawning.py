"""The zygote finds the packages that its parent finds, wherever they were installed."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sysconfig.get_path("purelib")
BASE = getattr(sys, "_base_executable", sys.executable)
"""The interpreter outside of any virtual environment: it has a user's site-packages."""


def as_a_user(home: Path) -> dict[str, str]:
    """What ``pip install --user`` does: packages lie in a folder of the user's."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = home / ".local" / "lib" / version / "site-packages"
    folder.mkdir(parents=True)
    (folder / "installed.pth").write_text(f"{ROOT}\n{PACKAGES}\n")
    return {"HOME": str(home)}


def by_a_variable(home: Path) -> dict[str, str]:
    """What clusters do: their modules put packages on PYTHONPATH."""
    return {"HOME": str(home), "PYTHONPATH": f"{ROOT}{os.pathsep}{PACKAGES}"}


@pytest.mark.full
@pytest.mark.parametrize("where", [as_a_user, by_a_variable])
def test_the_zygote_finds_packages_outside_of_the_interpreter(tmp_path, where):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

    done = subprocess.run(
        [BASE, "-m", "harness", "run", "--scenario", "zero-grad-missing"],
        cwd="/", env=kept | where(tmp_path), text=True, capture_output=True, check=False,
    )  # fmt: skip

    assert "1 of 1 scenario" in done.stdout, done.stderr
    assert "not available" not in done.stdout
