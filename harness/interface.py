"""What people import: ``harness.Grader``, ``harness.check``, ``harness.compare``.

``harness/__init__.py`` hands these names out when they are first asked for.
"""

import atexit
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Self

from harness import extensions
from harness.agents.given import GivenAnswers, RefusedFile, given_answers, given_transcript
from harness.checking import check_skill
from harness.comparison import compare as compare_arms
from harness.domain.answer import AnswerGrade
from harness.domain.check import CheckReport
from harness.domain.comparison import Arm, Comparison
from harness.domain.errors import HarnessFault, UsageError
from harness.domain.instruments import Instruments, OpenInstruments
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer
from harness.domain.transcript import Transcript
from harness.extraction.assignment import Choice
from harness.instruments import jail_and_oracle
from harness.runner import NOTHING, Settings, grade_answers
from harness.scenarios import default_bank, load_bank
from harness.scenarios.selection import find
from harness.store import load_run
from harness.store.arms import arm_of
from harness.transcripts import read

__all__ = ["Grader", "check", "compare"]

TEXT = "<text>"
"""The name of an answer that came as text."""


class Grader:
    """Grades programs and answers; its jail and its oracle stay warm between the calls.

        with harness.Grader() as grader:
            grade = grader.grade(Path("train.py"))
        print(grade.code, grade.reasons)

    The processes start with ``with``, or else with the first call; they end with ``with``, with
    ``close()``, or with the interpreter. A grader may be used from several threads.
    """

    def __init__(
        self,
        jobs: int | None = None,
        *,
        bank: Path | None = None,
        trust_bank: bool = False,
        allow: Mapping[str, str] = NOTHING,
        open_instruments: OpenInstruments = jail_and_oracle,
    ) -> None:
        """Nothing is started yet.

        Args:
            jobs: executions at the same time; without it as many as there are cores.
            bank: a folder of scenarios instead of the harness's own.
            trust_bank: whether properties and workloads that this bank brings may be loaded.
            allow: ids of properties that may fail on purpose, with the reasons.
            open_instruments: what executes and measures.
        """
        self._jobs = jobs or os.cpu_count() or 1
        self._folder = bank or default_bank()
        if (
            trust_bank
        ):  # now: the processes that run and measure programs may start before it is read
            extensions.trust(self._folder)
        self._allow = allow
        self._open_instruments = open_instruments
        self._lock, self._loading = threading.Lock(), threading.Lock()
        self._open = ExitStack()
        self._tools: Instruments | None = None
        self._bank: Bank | None = None
        _close_at_exit(self)

    def __enter__(self) -> Self:
        self._warm()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes. The next call would start them again."""
        with self._lock:
            self._tools = None
            self._open.close()

    @property
    def bank(self) -> Bank:
        """The scenarios that answers may belong to."""
        with self._loading:  # a bank brings code: two readers at once would find half of it
            if self._bank is None:
                self._bank = load_bank(self._folder)
            return self._bank

    def grade(self, given: str | Path | Transcript, scenario: str | None = None) -> AnswerGrade:
        """Grade one answer.

        Args:
            given: a file or folder (a path, or text of one line that names one), the text of a
                program or of an answer in Markdown, or a transcript.
            scenario: the id of the scenario that it answers. Without it the answer is judged by the
                scenario that it names or is clearly like, else by its own settings.

        Raises:
            UserError: it cannot be read, holds not just one answer, names a scenario that does not
                exist, or this machine cannot run programs.
            HarnessFault: a fault of the harness.
        """
        grades = list(self._graded(self._answers(given, scenario)))
        if len(grades) != 1:
            raise UsageError(
                f"{given if isinstance(given, str | Path) else TEXT}: holds {len(grades)} answers;"
                " expected one: use grade_all"
            )
        if grades[0].error is not None:
            raise UsageError(f"{grades[0].file}: {grades[0].error}")
        return grades[0]

    def grade_all(
        self, files: Iterable[str | Path], scenario: str | None = None
    ) -> list[AnswerGrade]:
        """Grade every answer in these files, in order; ``error`` says what could not be read.

        Raises:
            UserError: the scenario does not exist, or this machine cannot run programs.
            HarnessFault: a fault of the harness.
        """
        names = [str(file) for file in files]
        answers = given_answers(names, None, self.bank, self._choice(scenario))
        return list(self._graded(answers))

    def _answers(
        self, given: str | Path | Transcript, scenario: str | None
    ) -> Iterable[GivenAnswers | RefusedFile]:
        choice = self._choice(scenario)
        if isinstance(given, Transcript):
            return [given_transcript(given, TEXT, self.bank, choice)]
        if isinstance(given, Path) or _is_a_file(given):
            return given_answers([str(given)], None, self.bank, choice)
        found = read(BytesIO(given.encode(errors="replace")))
        return [given_transcript(one, TEXT, self.bank, choice) for one in found]

    def _choice(self, scenario: str | None) -> Choice:
        return Choice(scenario=None if scenario is None else find(self.bank, scenario).id)

    def _graded(self, answers: Iterable[GivenAnswers | RefusedFile]) -> Iterator[AnswerGrade]:
        told: list[GradedAnswer] = []
        settings = Settings(jobs=self._jobs, keep=told.append)
        batch = grade_answers(self.bank, answers, 1, settings, self._lent, allowed=self._allow)
        if batch.interrupted:
            raise KeyboardInterrupt
        if batch.faults:
            raise HarnessFault(batch.faults[0].sentence)
        return (one.stored.answer for one in told)

    @contextmanager
    def _lent(self, jobs: int) -> Iterator[Instruments]:  # noqa: ARG002 (they are open already)
        """The instruments for the length of a call. Ctrl-C ends them: threads wait for programs."""
        try:
            yield self._warm()
        except BaseException:
            self.close()
            raise

    def _warm(self) -> Instruments:
        with self._lock:
            if self._tools is None:
                self._tools = self._open.enter_context(self._open_instruments(self._jobs))
            return self._tools


def check(path: str | Path, *, jobs: int | None = None) -> CheckReport:
    """Execute every example of a skill, or of one Markdown page, and hold it against its claims.

    Raises:
        UserError: it cannot be read, or this machine cannot run programs.
    """
    return check_skill(Path(path), jail_and_oracle, jobs=jobs or os.cpu_count() or 1)


def compare(old: str | Path, new: str | Path) -> Comparison:
    """Whether the answers of one stored run are better than those of another, or worse.

    Raises:
        UserError: a run cannot be read, or the two differ in more than the skill.
    """
    return compare_arms(_arm(Path(old)), _arm(Path(new)))


def _arm(folder: Path) -> Arm:
    with load_run(folder) as run:
        return arm_of(run)


def _close_at_exit(grader: Grader) -> None:
    """Not by a reference that would keep it alive."""
    there = weakref.ref(grader)

    def close() -> None:
        alive = there()
        if alive is not None:
            alive.close()

    atexit.register(close)
    weakref.finalize(grader, atexit.unregister, close)


def _is_a_file(text: str) -> bool:
    return "\n" not in text and len(text) < 4096 and Path(text).exists()
