"""One batch of `harness grade`, whose verdicts are read as they come."""

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from tests.corpora.manifest import ROOT, Answer

GRADE = ["-m", "harness", "grade", "--judge", "none", "--json"]

Line = dict[str, Any]


class Batch:
    """Answers that are graded together: a jail that is warm for the second is warm for the last."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._known: dict[str, Line] = {}

    def verdict(self, answer: Answer) -> Line:
        """The answer's line of output; waits until it is there."""
        while answer.file not in self._known:
            line = next(self._lines)
            self._known[line["file"].partition(", ")[0]] = line
        return self._known[answer.file]


@contextmanager
def graded_together(answers: list[Answer], python: str = sys.executable) -> Iterator[Batch]:
    """The command, with as many executions at a time as there are cores."""
    scenarios = {answer.file: answer.scenario for answer in answers}
    with (
        tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as mapped,
        tempfile.TemporaryFile("w+") as complaints,
    ):
        csv.writer(mapped).writerows(scenarios.items())
        mapped.flush()
        command = [python, *GRADE, "--map", mapped.name, *scenarios]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=complaints, text=True
        ) as process:
            try:
                yield Batch(_lines(process, complaints))
            finally:
                process.terminate()


def _lines(process: subprocess.Popen[str], complaints: IO[str]) -> Iterator[Line]:
    assert process.stdout is not None
    yield from map(json.loads, process.stdout)
    complaints.seek(0)
    raise AssertionError(f"`harness grade` ended too early: {complaints.read()[-4000:]}")
