"""Networks with an optimizer each that are clipped by one norm over both."""

import math

from harness.domain.clip_call import clip_calls
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import number, show
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
    return handed_both(max(shown, key=weight)) if len(shown) > 1 else None


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
