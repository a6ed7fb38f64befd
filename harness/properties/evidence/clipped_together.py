"""Networks with an optimizer each that are clipped by one norm over both."""

import math

from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.consumption import Reading
from harness.properties.evidence.figures import middle, number, show, spread
from harness.properties.evidence.regimes import Regimes

ID = "clip-global-norm"


def together(seen: Regimes) -> Verdict | None:
    """A fail when the norm that clipped windows were divided by includes the gradients left in the
    other network.
    """
    shrunk = [r for r in seen.loud if r.state == "shrunk" and r.update.trains]
    slack = 2 * max((r.slack for r in shrunk), default=0.0)
    thresholds = [r.ratio * math.hypot(r.true, r.update.beside) for r in shrunk]
    if spread([r.consumed for r in shrunk]) <= 10 * slack or spread(thresholds) > slack:
        return None
    return by_both(max(shrunk, key=lambda r: r.update.beside / r.true), middle(thresholds))


def by_both(reading: Reading, threshold: float) -> Verdict:
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
