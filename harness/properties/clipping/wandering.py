"""A threshold that moves by the same step or factor in every update, whatever the gradients were."""

from collections.abc import Sequence
from itertools import pairwise

from harness.domain.verdict import Verdict, inconclusive
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import number, show, spread
from harness.properties.evidence.regimes import Regimes

ENOUGH = 3
"""So many clipped updates in a row show a rule by which what is left moves."""

MOVES = 1e-3
"""Smaller relative moves are none: they come from rounding, or from weights that grow."""

EVEN = 0.005
"""How far the moves of one rule differ, relative to a move, by rounding of the norms."""


def wandering(seen: Regimes, property_: str) -> Verdict | None:
    """Inconclusive, where the norm that clipping leaves moves on as if nothing would hold it: what
    was seen is accepted, and some updates later it would not be.
    """
    for run in _runs(seen.loud):
        norms = [r.consumed for r in run]
        rule = _rule(norms)
        if rule is not None and not _is_one_way([r.true for r in run]):
            return inconclusive(
                property_,
                f"From {run[0].where} on, the norm that clipping leaves moves by {rule} an update, "
                f"from {show(norms[0])} to {show(norms[-1])}, whatever the gradient was. How far it "
                f"goes was not seen; accepted is {seen.accepted}.",
                number("first norm", norms[0], run[0].where),
                number("last norm", norms[-1], run[-1].where),
            )
    return None


def _runs(readings: Sequence[WindowReading]) -> list[list[WindowReading]]:
    """Clipped windows of successive updates of one rank in one probe."""
    runs: list[list[WindowReading]] = []
    for reading in readings:
        if reading.state not in ("shrunk", "clipped"):
            continue
        if not runs or not _follows(runs[-1][-1], reading):
            runs.append([])
        runs[-1].append(reading)
    return [run for run in runs if len(run) >= ENOUGH]


def _follows(before: WindowReading, after: WindowReading) -> bool:
    place = before.window.probe.probe, before.window.rank, before.update.index + 1
    return place == (after.window.probe.probe, after.window.rank, after.update.index)


def _rule(norms: Sequence[float]) -> str | None:
    factors = [b / a for a, b in pairwise(norms)]
    if _is_one([factor - 1.0 for factor in factors]):
        return f"the factor {show(factors[0])}"
    steps = [b - a for a, b in pairwise(norms)]
    return show(steps[0]) if _is_one([step / norms[0] for step in steps]) else None


def _is_one(moves: Sequence[float]) -> bool:
    """Whether all relative moves are the same, and large enough to be one."""
    sizes = [abs(move) for move in moves]
    one_way = min(moves) > 0 or max(moves) < 0
    return one_way and min(sizes) > MOVES and spread(sizes) < EVEN


def _is_one_way(norms: Sequence[float]) -> bool:
    """Whether they only grow or only fall, so that what is left may have followed them."""
    return list(norms) in (sorted(norms), sorted(norms, reverse=True))
