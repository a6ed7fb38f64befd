"""By what a program divides the losses of a window, where it trains on a loss of its own.

Its large batch is not known then. But a mean that torch's loss function returned goes backward as it
is, or divided: what these factors add up to is how many times the mean of the window arrives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.domain.clip_call import clip_calls
from harness.domain.trace import BackwardSeen, Update
from harness.domain.verdict import Verdict, failed, passed
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import close, count, middle, number, show, spread

ID = "accumulation-equals-large-batch"

SAME = 0.01
"""Relative spread up to which a total of factors is one number, half precision included."""


@dataclass(frozen=True, slots=True)
class WindowTotal:
    """What one window adds up to."""

    reading: WindowReading
    """The window."""
    size: float
    """How many times the mean of its micro-batches came to the clip, or to the step without one."""
    of: int
    """How many losses went backward: a micro-batch may go through a model more than once."""


def own_size(gathered: Sequence[WindowReading]) -> Verdict | None:
    """A fail when windows arrive as the sum of their means, or divided twice; a pass when they arrive
    as the mean; ``None`` where nothing tells.
    """
    known = [r for r in gathered if not (in_parts(r) or clipped_by_hand(r))]
    totals = [t for r in known if (t := total(r)) is not None]
    sizes = [t.size for t in totals]
    if not totals or spread(sizes) > SAME:
        return None
    factor, first = middle(sizes), totals[0].reading
    of = totals[0].of
    if of < 2:
        return None
    if close(factor, 1.0, SAME):
        return mean(totals, of)
    if (rows := rows_of(first)) and rows != of and close(factor, of / rows, SAME):
        return by_rows(first, rows, of)
    if not (close(factor, of, SAME) or close(factor, 1.0 / of, SAME)):
        return None
    once = f"divide each loss by the {of} micro-batches of the window"
    twice = f"it was divided by {of} twice, as a loss or as gradients; divide once"
    return failed(
        ID,
        f"In {first.where} the {count(of, 'micro-batch')} add up to {show(factor)} times the mean of "
        f"their losses, and so in {count(len(totals), 'window')}: {once if factor > 1 else twice}.",
        number("times the mean of the window", factor, first.where),
        number("micro-batches in the window", of, first.where),
    )


def clipped_by_hand(reading: WindowReading) -> bool:
    """Whether a clip that nobody called shrank it, so that nothing tells what came to it."""
    return reading.state == "clipped" and not clip_calls(reading.update)


def in_parts(reading: WindowReading) -> bool:
    """Whether each backward of the window stands on a line of its own, as those on real and on made
    rows of a GAN do: parts of one loss, whose sum is meant. Micro-batches share a line.
    """
    lines = [b.line for b in reading.window.rank_trace.backwards if is_of(b, reading.update)]
    return None not in lines and len({*lines}) == len(lines) > 1


def is_of(backward: BackwardSeen, update: Update) -> bool:
    """Whether a call of backward came before this update and after the one before."""
    return backward.after_update == update.index


def rows_of(reading: WindowReading) -> int:
    """How many rows each of its micro-batches holds; 0 where they differ, or hold one."""
    sizes = {m.real_samples for m in reading.window.own}
    return sizes.pop() if len(sizes) == 1 and sizes != {1} else 0


def by_rows(reading: WindowReading, rows: int, of: int) -> Verdict:
    """The fail for means that are divided by the rows of their batch once more."""
    return failed(
        ID,
        f"In {reading.where} each loss, a mean already, is divided by the {rows} rows of its batch "
        f"and not by the {of} micro-batches of the window, which add up to {show(of / rows)} times "
        f"their mean: divide by {of}.",
        number("rows of a micro-batch", rows, reading.where),
        number("micro-batches in the window", of, reading.where),
    )


def mean(totals: Sequence[WindowTotal], of: int) -> Verdict:
    """The pass, on windows that could have added up to something else."""
    return passed(
        ID,
        f"In {count(len(totals), 'full window')} of {of} micro-batches the optimizer was given the mean "
        "of their losses' gradients.",
        number("windows", len(totals)),
        number("times the mean of the window", totals[0].size, totals[0].reading.where),
    )


def total(reading: WindowReading, *, of_own_means: bool = False) -> WindowTotal | None:
    """What a window adds up to; ``None`` where a factor is not known, or what a clip met is not.
    ``of_own_means``: whether means that the program took itself count in any case.
    """
    update, rank = reading.update, reading.window.rank_trace
    own = [b for b in rank.backwards if is_of(b, update)]
    declared = reading.window.probe.program.accumulates_over in (len(own), update.window_size)
    factors = [factor_of(b, own=declared or of_own_means) for b in own]
    known = [f for f in factors if f is not None]
    arrived = before_the_clip(reading, update)
    forwards = update.window_size % len(known) if known else 1  # as many of each loss
    if forwards or len(known) < len(factors) or arrived is None:
        return None
    return WindowTotal(reading, sum(known) * arrived, len(known))


def factor_of(backward: BackwardSeen, *, own: bool) -> float | None:
    """What a mean was multiplied by: one of torch's losses, or of the program's own where it says how
    many micro-batches it gathers, so that their mean is due.
    """
    if backward.factor is None and own:
        return backward.times_own_mean
    return backward.factor


def before_the_clip(reading: WindowReading, update: Update) -> float | None:
    """What a clip was given over what backward computed, or what was consumed where none was called."""
    if reading.state == "exact":
        return 1.0
    norms = [c.returned for c in clip_calls(update) if "norm" in c.function and c.gradients]
    if not norms:
        return reading.ratio if reading.aligned else None
    met = norms[0]
    return met / reading.true if met is not None and reading.aligned and len(norms) == 1 else None
