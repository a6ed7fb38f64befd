"""One warm process that runs bound programs, for all tests of this folder in one worker."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.patience import PATIENCE

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Ran:
    """How a program went."""

    steps: int
    batches: dict[str, int]
    error: str | None
    message: str
    notes: list[str]
    calls: list[str]
    result: str
    printed: str
    weights: list[list[float]]
    tracked: list[str]
    untrue: str | None

    @property
    def outcome(self) -> str:
        return "ran" if self.error is None else f"{self.error}: {self.message}"


@pytest.fixture(scope="session")
def driver() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.sandbox.world.driver"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, cwd=ROOT, env=environment,
    )  # fmt: skip
    yield process
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(timeout=PATIENCE)
    process.stdout.close()


@pytest.fixture(scope="session")
def ranks(driver) -> Callable[..., list[Ran]]:
    def run(program: str, **request: Any) -> list[Ran]:
        driver.stdin.write(json.dumps({"program": program, **request}) + "\n")
        driver.stdin.flush()
        return [
            Ran(
                steps=reply.get("steps", 0),
                batches=reply.get("batches", {}),
                error=reply["error"],
                message=reply.get("message", ""),
                notes=reply.get("notes", []),
                calls=reply.get("calls", []),
                result=reply.get("result", ""),
                printed=reply.get("printed", ""),
                weights=reply.get("weights", []),
                tracked=reply.get("tracked", []),
                untrue=reply.get("untrue"),
            )
            for reply in json.loads(driver.stdout.readline())
        ]

    return run


@pytest.fixture(scope="session")
def run(ranks) -> Callable[..., Ran]:
    return lambda program, **request: ranks(program, **request)[0]
