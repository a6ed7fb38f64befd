"""Networks with an optimizer each that are clipped by one norm over both."""

import math

from harness.domain.clip_call import clip_calls
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import middle, number, show, spread
from harness.properties.evidence.regimes import Regimes

ID = "clip-global-norm"

SEEN = 5e-7
"""Relative difference from which on two norms in single precision are told apart."""


def together(seen: Regimes) -> Verdict | None:
    """A fail when the norm that clipped windows were divided by includes the gradients left in the
    other network.
    """
    parted = [r for r in seen.loud if r.update.trains]
    shown = [r for r in parted if counted_in(r)]
    if len(shown) > 1:
        return handed_both(max(shown, key=weight))
    shrunk = [r for r in parted if r.state == "shrunk"]
    slack = 2 * max((r.slack for r in shrunk), default=0.0)
    thresholds = [r.ratio * math.hypot(r.true, r.update.beside) for r in shrunk]
    if spread([r.consumed for r in shrunk]) <= 10 * slack or spread(thresholds) > slack:
        return None
    return by_both(max(shrunk, key=weight), middle(thresholds))


def weight(reading: WindowReading) -> float:
    """The norm of the other network's gradients over that of its own."""
    return reading.update.beside / reading.true


def counted_in(reading: WindowReading) -> bool:
    """Whether a clip was handed more gradients than this network has, and returned the norm over
    both, where that is another one than its own alone.
    """
    parameters = reading.match.parameters
    own = sum(p.consumed_norm is not None for p in parameters)
    both = math.hypot(reading.true, reading.update.beside)
    calls = [c for c in clip_calls(reading.update) if c.gradients > own and c.limit and c.returned]
    return any(
        both / reading.true - 1.0 > SEEN
        and abs((c.returned or 0.0) / both - 1.0) < (both / reading.true - 1.0) / 4
        for c in calls
    )


def by_both(reading: WindowReading, threshold: float) -> Verdict:
    """The fail, at the window in which the other network's gradients weighed most."""
    beside = reading.update.beside
    return failed(
        ID,
        f"In {reading.where} a true norm of {show(reading.true)} became {show(reading.consumed)} "
        f"although the threshold is {show(threshold)}: the other network's gradients, of norm "
        f"{show(beside)}, were counted in. Clip each network on its own.",
        number("norm of the true gradient", reading.true, reading.where),
        number("norm of the consumed gradient", reading.consumed, reading.where),
        number("norm of the other network's gradients", beside, reading.where),
    )


def handed_both(reading: WindowReading) -> Verdict:
    """The fail where the other network's gradients are too small to show in what is left."""
    update, own = reading.update, len(reading.match.parameters)
    given = max(c.gradients for c in clip_calls(update))
    return failed(
        ID,
        f"In {reading.where} the clip was handed {given} gradients, and the {update.trains} has {own}: "
        f"the other network's, of norm {show(update.beside)}, are counted into the norm that it is "
        "divided by. Clip each network on its own.",
        number("norm of the true gradient", reading.true, reading.where),
        number("norm of the other network's gradients", update.beside, reading.where),
    )
