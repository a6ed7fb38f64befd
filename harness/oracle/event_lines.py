"""What happened between one update and the next, as lines for people."""

from collections.abc import Iterator
from itertools import groupby

from harness.domain.event import (
    Backward,
    Clip,
    Collective,
    Event,
    Forward,
    OptimizerStep,
    ScalerCall,
    SchedulerStep,
)
from harness.oracle.facts import RankRun

LINES = 40
"""Most lines that are kept of one window."""


def event_lines(run: RankRun, index: int) -> tuple[str, ...]:
    """From the end of the window before to what came after the step: a clip there is too late."""
    first = _end(run, index - 1) if index else 0
    told = _lines(run.events[first : _end(run, index)])
    counted = [(line, sum(1 for _ in same)) for line, same in groupby(told)]
    lines = [f"{count} x {line}" if count > 1 else line for line, count in counted]
    left_out = len(lines) - LINES
    return (f"({left_out} lines before)", *lines[-LINES:]) if left_out > 0 else tuple(lines)


def _end(run: RankRun, index: int) -> int:
    """The first event after the step that begins another window."""
    after = run.updates[index].position + 1
    begins = (Forward, Backward, OptimizerStep)
    end = len(run.events)
    return next((at for at in range(after, end) if isinstance(run.events[at], begins)), end)


def _lines(events: tuple[Event, ...]) -> Iterator[str]:
    forward = False
    for event in events:
        if isinstance(event, Forward):
            if forward:
                yield "forward"
            forward = event.differentiable
            continue
        line = _line(event)
        if line is None:
            continue
        if forward:
            yield "forward, backward" if isinstance(event, Backward) else "forward"
            forward = False
            if isinstance(event, Backward):
                continue
        yield line
    if forward:
        yield "forward"


def _line(event: Event) -> str | None:
    said = None  # of what is beside every backward, and of what is no step of training
    match event:
        case Backward():
            said = "backward"
        case Clip():
            threshold = "" if event.threshold is None else f" at {event.threshold:.4g}"
            returned = "" if event.returned is None else f", returned {event.returned:.4g}"
            said = f"{event.function}{threshold} on {event.parameters} gradients{returned}"
        case ScalerCall() if event.method != "scale":
            skipped = ", which left the step out" if event.skipped else ""
            off = "" if event.enabled else " (disabled)"
            said = f"scaler.{event.method} at scale {event.scale_before:.6g}{off}{skipped}"
        case OptimizerStep():
            said = f"{event.type.rpartition('.')[2]}.step"
        case SchedulerStep():
            rates = ", ".join(f"{rate:.4g}" for rate in event.learning_rates)
            said = f"scheduler.step, learning rate now {rates}"
        case Collective(floating=True):
            said = f"{event.operation.rstrip('_')} of {event.elements} elements"
    return said
