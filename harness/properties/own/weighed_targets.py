"""Targets that weigh differently although the message asks that each weighs the same.

A mean over the targets of each micro-batch, or of each rank, gives those of short rows more weight.
Whether that is meant is a choice, which the message has made.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.divisors import SAME
from harness.properties.evidence.figures import close, number, show, show_all, spread

ID = "accumulation-equals-large-batch"

ASKED = "The message asks that each target that counts weighs the same"


@dataclass(frozen=True, slots=True)
class WeighedWindow:
    """The losses of one update, on all ranks."""

    where: str
    """Place of the update, in words."""
    weights: tuple[float, ...]
    """What each target counts, of each loss in order, a rank after the other."""
    counts: tuple[int, ...]
    """How many targets each of these losses has."""
    ranks: int
    """Over how many ranks gradients are averaged."""
    clipped: bool
    """Whether a clip was called, which may hide a factor."""
    arrived: float
    """What was consumed over the mean of what backward computed on the ranks."""

    @property
    def total(self) -> float:
        """What all targets of the window count together; 1 for their mean."""
        added = sum(w * n for w, n in zip(self.weights, self.counts, strict=True))
        return added / self.ranks * self.arrived


def weighs_targets(trace: Trace) -> Verdict | None:
    """The fail for a program that weighs targets of different micro-batches or ranks differently, or
    whose sum over all ranks is averaged over them once more.
    """
    if trace.ragged is None or _is_lent_a_pair(trace.ragged):
        return None
    windows = list(_windows(trace.ragged))
    told = [w for w in windows if len(set(w.counts)) > 1]
    uneven = [w for w in told if spread(w.weights) > SAME]
    if told and len(uneven) == len(told):
        return _uneven(uneven[0])
    parts = [w for w in told if w.ranks > 1 and not w.clipped]
    if parts and all(close(w.total, 1.0 / w.ranks, SAME) for w in parts):
        return _averaged_again(parts[0])
    return None


def _is_lent_a_pair(probe: ProbeTrace) -> bool:
    """Whether a loss that is lent gives more than a loss: its reader's may be a sum and its number."""
    lent = [note.partition(":")[0] for note in probe.program.bound if note.endswith(": criterion")]
    return any(
        re.search(rf"\w\s*,\s*\w+\s*=\s*{re.escape(name)}\(", probe.program.source) for name in lent
    )


def _uneven(window: WeighedWindow) -> Verdict:
    apart = "micro-batch" if window.ranks == 1 else "micro-batch and rank"
    return failed(
        ID,
        f"{ASKED}. In {window.where} the losses have {_listed(window.counts)} of them, and each "
        f"counts {show_all(window.weights)}: the mean of each {apart} is taken by itself. Add the "
        "losses up, and divide by the number of targets in all of them.",
        number("smallest weight of a target", min(window.weights), window.where),
        number("largest weight of a target", max(window.weights), window.where),
    )


def _averaged_again(window: WeighedWindow) -> Verdict:
    return failed(
        ID,
        f"{ASKED}. In {window.where} all targets of the {window.ranks} ranks together count "
        f"{show(window.total)} and not 1: their sum is divided by their number on all ranks, and the "
        "ranks' gradients are averaged once more. Multiply the loss by the number of ranks.",
        number("weight of all targets", window.total, window.where),
    )


def _listed(counts: Sequence[int]) -> str:
    *first, last = map(str, counts)
    return f"{', '.join(first)} and {last}"


def _windows(probe: ProbeTrace) -> Iterator[WeighedWindow]:
    """Updates of the first rank, with the losses of all ranks, where each of these is known."""
    for update in probe.ranks[0].updates if probe.ranks else ():
        backwards = [
            b for rank in probe.ranks for b in rank.backwards if b.after_update == update.index
        ]
        arrived = _arrived(update)
        if update.skipped or arrived is None or not all(b.weighed for b in backwards):
            continue
        pairs = [pair for b in backwards for pair in b.weighed]
        if pairs and min(weight for weight, _ in pairs) > 0.0:
            yield WeighedWindow(
                where=f"{probe.probe}, update {update.index + 1}",
                weights=tuple(weight for weight, _ in pairs),
                counts=tuple(count for _, count in pairs),
                ranks=max(1, probe.world_size),
                clipped=bool(update.clip_calls),
                arrived=arrived,
            )


def _arrived(update: Update) -> float | None:
    """The factor between what was computed and what was consumed; ``None`` where that is no factor."""
    match = update.match("as-computed")
    if match is None or match.direction_error > SAME or match.expected_norm == 0.0:
        return None
    return match.consumed_norm / match.expected_norm
