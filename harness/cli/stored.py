"""Stored runs on the command line: ``--out``, and answers printed as they come."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Literal

from harness import __version__
from harness.domain.answer import Batch
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer, RunHead, SkillUsed
from harness.report.console import Output
from harness.store import RunFolder, load_run

NOBODY = "nobody reads this any more, and without --out nothing is kept: it ends here"


@contextmanager
def stored(
    out: Path | None,
    kind: Literal["bank", "grade", "agent"],
    bank: Bank,
    *,
    judge: str = "none",
    seed: int = 0,
    agent: str | None = None,
    skill: SkillUsed | None = None,
    rounds: int | None = None,
    shard: str | None = None,
    silent: bool = False,
) -> Iterator[RunFolder | None]:
    """The run to add to, ``None`` without ``--out``. How many answers it has already is printed."""
    if out is None:
        yield None
        return
    from harness.runner import torch_version

    head = RunHead(
        kind=kind,
        harness_version=__version__,
        torch_version=torch_version(),
        bank_digest=bank.digest,
        judge=judge,
        seed=seed,
        agent=agent,
        skill=skill,
        rounds=rounds,
        shard=shard,
    )
    with RunFolder.create(out, head) as run:
        if len(run) and not silent:
            answers = "answer is" if len(run) == 1 else "answers are"
            Output(stderr=True).text(f"harness: {len(run)} {answers} in {out} already")
        yield run


def opened_run(folder: Path) -> RunFolder:
    """To read, with a word on standard error where parts of it are not there."""
    run = load_run(folder)
    if missing := run.head.shards_missing:
        Output(stderr=True).text(f"harness: {folder}: {missing}; only what is there is shown")
    return run


@contextmanager
def printing(
    *, as_json: bool, plain: bool, verbose: bool, show_program: bool, in_vain: bool = False
) -> Iterator[Callable[[GradedAnswer], None]]:
    """Prints each answer when it is told, and keeps none. ``in_vain``: whether the work is for nothing
    once nobody reads that (``| head``); it is interrupted then, once.
    """
    from harness.report.answers import render_answer, render_line

    output, ended = Output(plain=plain), Event()

    def show(told: GradedAnswer) -> None:
        if output.quiet and in_vain and not ended.is_set():
            ended.set()
            Output(stderr=True).text(f"harness: {NOBODY}")
            raise KeyboardInterrupt
        if as_json:
            output.text(render_line(told.stored.answer))
        else:
            answer = told.stored.answer
            output.show(render_answer(answer, verbose=verbose, show_program=show_program))

    yield show


def print_count(batch: Batch, *, plain: bool, asked: bool = False) -> None:
    """How many answers were what, unless it was one; and whether that is all. ``asked``: an agent was,
    so that no code is no help.
    """
    from harness.report.answers import render_tally

    output = Output(plain=plain)
    if batch.tally.total != 1:
        output.text("")
        output.show(render_tally(batch.tally, asked=asked))
    if batch.interrupted:
        Output(stderr=True).text("harness: interrupted; only what was finished is shown")


def print_unread(unread: Sequence[str]) -> None:
    """Which replies the judge of the text lacks, and what became of the answers."""
    distinct = sorted(set(unread))  # threads lack them in any order
    errors = Output(stderr=True)
    for sentence in distinct:
        errors.text(sentence)
    if distinct:
        replies = (
            "1 recorded reply is" if len(distinct) == 1 else f"{len(distinct)} recorded replies are"
        )
        errors.text(
            f"harness: {replies} missing; what they decide is unassessed, all else is shown"
        )


def print_unstored(unstored: Sequence[str]) -> None:
    """That answers were told and are not in the run."""
    if unstored:
        answers = "1 answer is" if len(unstored) == 1 else f"{len(unstored)} answers are"
        again = "repair that, and the same command goes on"
        Output(stderr=True).text(
            f"harness: {unstored[0]}; {answers} told only, not stored: {again}"
        )
