"""How the program ended, what it said, and what it did between clock reads."""

import re
from typing import Any

import numpy as np

from harness.domain.event import (
    Backward,
    BatchYielded,
    Clip,
    ClockRead,
    Event,
    Finished,
    Forward,
    NothingRestored,
    OptimizerStep,
    Printed,
    Start,
)
from harness.domain.facts_of_run import FactsOfRun
from harness.domain.recording import Recording
from harness.domain.trace import Program, SegmentSeen
from harness.oracle.facts import Array, RankRun

ORDER = ("not-completed", "unbound", "raised", "exited", "returned")
"""Outcomes of ranks; of several the one that comes first here is reported."""

SAID_ALIKE = (*FactsOfRun.model_fields, "outcome", "exception", "message", "line", "during")
"""What the end of a recording says and a trace repeats."""


def nothing(recording: Recording) -> Program:
    """The program of a recording without any rank."""
    return Program(
        outcome="not-completed",
        exception=None,
        message=recording.problem or "nothing was recorded",
        line=None,
        during=None,
        ours=recording.ours,
        texts=(),
        reported_before_backward=None,
    )


def how_it_ended(recording: Recording, run: RankRun) -> Program:
    """The end that the rank recorded last, unless the recording is incomplete."""
    texts = tuple(e.text for e in run.events if isinstance(e, Printed))
    finished = next((e for e in reversed(run.events) if isinstance(e, Finished)), None)
    about = next((e for e in run.events if isinstance(e, Start)), None)
    ran: dict[str, Any] = {}
    if about is not None:
        ran = {"source": about.source, "bound": about.notes, "calls": about.calls}
    if recording.problem is not None or finished is None:
        return nothing(recording).model_copy(update={"texts": texts, **ran})
    if ran and finished.lent:
        ran["bound"] = (*ran["bound"], *finished.lent)
    said = {name: getattr(finished, name) for name in SAID_ALIKE}
    return Program(
        **said,
        ours=False,
        texts=texts,
        reported_before_backward=None,
        unentered=None if finished.outcome == "unbound" else finished.unentered,
    ).model_copy(update=ran)


def reported(run: RankRun, poisoned: int | None = None) -> bool | None:
    """Whether the first forward with non-finite values was reported, and not trained on.

    What comes next decides. A backward means that the program went on. The next forward, or the
    end, means that it did not, and then something has to have been said before. ``None``: there was
    no such forward, and nothing was said when batch number ``poisoned`` was handed out.
    """
    spoiled = next((f for f in run.forwards.values() if not _finite(f.inputs + f.outputs)), None)
    if spoiled is None:
        return True if _reported_unseen(run, poisoned) else None
    said = False
    usual = _usual_lines(run, spoiled.position)
    for event in run.events[spoiled.position + 1 :]:
        match event:
            case Printed():
                said = said or not _lines(event.text) <= usual
            case Backward() | OptimizerStep():
                return False
            case Finished():
                return said or event.outcome in ("raised", "exited")
            case Forward():
                return said
            case _:
                pass
    return said


def _reported_unseen(run: RankRun, poisoned: int | None) -> bool:
    """Whether the batch was reported as soon as it was handed out, before it entered the model."""
    batches = [at for at, e in enumerate(run.events) if isinstance(e, BatchYielded)]
    found = [at for at in batches if _batch(run.events[at]) == poisoned]
    if not found:
        return False
    usual = _usual_lines(run, found[0])
    for event in run.events[found[0] + 1 :]:
        match event:
            case Printed() if not _lines(event.text) <= usual:
                return True
            case Finished():
                return event.outcome == "raised" and event.during is None
            case Forward() | Backward() | OptimizerStep() | BatchYielded():
                return False
            case _:
                pass
    return False


def _batch(event: Event) -> int | None:
    return event.index if isinstance(event, BatchYielded) else None


NUMBERS = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")


def _usual_lines(run: RankRun, position: int) -> frozenset[str]:
    """Lines that are printed for sound batches too, so that they report nothing."""
    before = (e for e in run.events[:position] if isinstance(e, Printed))
    return frozenset(line for event in before for line in _lines(event.text))


def _lines(text: str) -> frozenset[str]:
    """Lines without their numbers; ``nan`` and ``inf`` are none."""
    return frozenset(NUMBERS.sub("#", line) for line in text.splitlines())


def segments(run: RankRun) -> tuple[SegmentSeen, ...]:
    """What ran between two reads of a clock."""
    found: list[SegmentSeen] = []
    counts: dict[str, int] | None = None
    backwards = 0
    for event in run.events:
        if isinstance(event, ClockRead):
            if counts is not None:
                found.append(SegmentSeen(**counts))
            counts = {**dict.fromkeys(SegmentSeen.model_fields, 0), "backwards_before": backwards}
        elif counts is not None:
            _count(counts, event)
        backwards += isinstance(event, Backward)
    return tuple(found)


def restored_nothing(run: RankRun) -> int:
    """How often a state was put back, after a step, that is the model's own memory."""
    steps = (at for at, e in enumerate(run.events) if isinstance(e, OptimizerStep))
    first = next(steps, len(run.events))
    return sum(isinstance(e, NothingRestored) for e in run.events[first:])


def _count(counts: dict[str, int], event: object) -> None:
    match event:
        case Forward():
            counts["forwards"] += 1
        case Backward():
            counts["backwards"] += 1
        case Clip():
            counts["clips"] += 1
            counts["clipped_gradients"] += event.parameters
        case OptimizerStep():
            counts["steps"] += 1
        case BatchYielded():
            counts["batches"] += 1
        case _:
            pass


def _finite(arrays: tuple[Array, ...]) -> bool:
    return all(bool(np.isfinite(a).all()) for a in arrays)
