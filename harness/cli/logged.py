"""Answers in a file, such as a log of Inspect, as a run that can be compared."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.cli.app import print_faults
from harness.cli.stored import print_unread, stored
from harness.domain.errors import UsageError
from harness.domain.instruments import OpenInstruments
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer, SkillUsed
from harness.domain.transcript import Transcript
from harness.report.console import Output, progress_bar


@dataclass(frozen=True, slots=True)
class GradingOptions:
    """How answers in files are graded."""

    bank: Bank
    """The scenarios that they may answer."""
    judge: str
    """Who reads the text."""
    jobs: int
    """Executions at the same time."""
    open_: OpenInstruments
    """What executes and measures."""


@contextmanager
def as_runs(paths: Sequence[Path], how: GradingOptions) -> Iterator[list[Path]]:
    """Folders of runs: those that are given, and for each file one that lasts as long as this does.

    Raises:
        UsageError: a file cannot be read, or one of its answers cannot be graded.
    """
    with tempfile.TemporaryDirectory() as scratch:
        yield [
            _graded(path, Path(scratch, str(number), path.stem), how) if path.is_file() else path
            for number, path in enumerate(paths)
        ]


def _graded(file: Path, folder: Path, how: GradingOptions) -> Path:
    """Whatever scores a file holds, its programs are run: both arms get the same judge."""
    from harness.agents.given import GivenAnswers, given_answers
    from harness.extraction.assignment import Choice
    from harness.rubric import JudgingOptions, judge_named
    from harness.runner import Settings, grade_answers

    answers = list(given_answers([str(file)], None, how.bank, Choice()))
    said = [one.transcript for one in answers if isinstance(one, GivenAnswers)]
    missing: list[str] = []
    told: list[GradedAnswer] = []
    with (
        judge_named(how.judge, JudgingOptions(missing=missing)) as reader,
        stored(folder, "grade", how.bank, judge=reader.name, skill=_skill(said)) as run,
        progress_bar(Output(stderr=True)) as watch,
    ):
        settings = Settings(jobs=how.jobs, watch=watch, judge=reader, run=run, keep=told.append)
        batch = grade_answers(how.bank, answers, len(answers), settings, how.open_)
    print_faults(batch.faults, all_traces=False)
    print_unread(missing)
    if batch.interrupted:
        raise KeyboardInterrupt
    refused = [one.stored.answer.error for one in told if one.stored.answer.error]
    if refused or batch.unstored:
        raise UsageError(f"{file}: {(*refused, *batch.unstored)[0]}; nothing is compared")
    return folder


def _skill(said: Sequence[Transcript]) -> SkillUsed | None:
    """The one that its answers were given by."""
    for one in said:
        facts = {fact.key: fact.value for fact in one.facts}
        if "skill_digest" in facts:
            return SkillUsed(
                name=facts.get("skill", ""),
                digest=facts["skill_digest"],
                delivery=facts.get("delivery", ""),
            )
    return None
