"""Training that ran, and that no optimizer ever followed."""

import math
from collections.abc import Iterable

from harness.domain.trace import ProbeTrace, RankTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number

ID = "every-parameter-learns"

A_PASS = 8
"""Batches with a backward from which on they are training; fewer are a trial of a few batches."""


def never_stepped(probe: ProbeTrace) -> Verdict | None:
    """A fail when gradients were computed for a pass over the data, and no update followed."""
    seen = _ended(probe)
    for rank in probe.ranks if seen else ():
        if rank.updates or rank.implicit_updates or none_is_finite([rank]):
            continue  # what has no finite loss is rightly left out
        if is_training(rank):
            return _without_a_step(probe, rank)
    return None


def is_training(rank: RankTrace) -> bool:
    """Whether gradients were computed for as many batches as nobody only tries."""
    return min(through(rank), rank.batches_yielded) >= A_PASS


def through(rank: RankTrace) -> int:
    """Through how many forwards gradients flowed that were meant for an optimizer: what
    ``torch.autograd.grad`` returns may be meant for anything, until it is put into ``.grad``.
    """
    meant = sum(not b.returned or b.put_by_hand for b in rank.backwards)
    all_meant = not any(b.returned for b in rank.backwards)
    by_hand = any(b.put_by_hand for b in rank.backwards)
    return max(meant, rank.unused_forwards if by_hand or (all_meant and meant) else 0)


def none_is_finite(ranks: Iterable[RankTrace]) -> bool:
    """Whether every loss that is known is NaN or infinite, and some is known."""
    losses = [b.loss for rank in ranks for b in rank.backwards if b.loss is not None]
    return bool(losses) and not any(map(math.isfinite, losses))


def _ended(probe: ProbeTrace) -> bool:
    return probe.program.outcome in ("returned", "exited") and probe.learning is not None


def _without_a_step(probe: ProbeTrace, rank: RankTrace) -> Verdict:
    by_hand = any(b.put_by_hand for b in rank.backwards)
    backwards = sum(by_hand or not b.returned for b in rank.backwards)
    return failed(
        ID,
        f"In {probe.probe} backward ran {count(backwards, 'time')} over "
        f"{count(rank.batches_yielded, 'batch')} and nothing was ever updated: the step is missing, "
        "or what it waits for never came. Call optimizer.step() once a window.",
        number("backward calls", backwards, probe.probe),
        number("updates", 0, probe.probe),
    )
