"""Clipping everything by the norm of a part: that part is bounded, and the whole is not.

Thresholds that follow the run leave other norms each time too, and are right within what a scenario
accepts. They leave no part at one and the same norm.
"""

import math
from collections.abc import Iterable, Sequence

from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import middle, number, show, spread
from harness.properties.evidence.regimes import Regimes

ID = "clip-global-norm"

ENOUGH = 3
"""In so many windows it is no accident that a part has one norm and the whole has others."""

CLEARLY = 10.0
"""The norms of the whole have to differ by this many times the rounding error."""


def by_a_part(seen: Regimes) -> Verdict | None:
    """A fail when some parameters have the same norm in every loud window, and all together do not."""
    shrunk = [r for r in seen.loud if r.state == "shrunk" and not r.update.trains]
    slack = 2 * max((r.slack for r in shrunk), default=0.0)
    if len(shrunk) < ENOUGH or spread([r.consumed for r in shrunk]) <= CLEARLY * slack:
        return None
    for part in parts([p.name for p in shrunk[0].match.parameters]):
        norms = [norm_of(part, r) for r in shrunk]
        if spread(norms) <= slack:
            return counted_in_part(shrunk, part, middle(norms))
    return None


def parts(names: Sequence[str]) -> Iterable[frozenset[str]]:
    """Candidates for such a part, of at least two tensors: each layer, each kind of tensor (all
    weights, all biases), and everything but one of these.
    """
    layers = {n: n.rpartition(".")[0] for n in names}
    kinds = {n: n.rpartition(".")[2] for n in names}
    everything = frozenset(names)
    for group in (layers, kinds):
        for key in dict.fromkeys(group.values()):
            inside = frozenset(n for n in names if group[n] == key)
            yield from (p for p in (inside, everything - inside) if 1 < len(p) < len(names))


def norm_of(part: frozenset[str], reading: WindowReading) -> float:
    """What the optimizer consumed of these parameters."""
    sizes = [p.consumed_norm or 0.0 for p in reading.match.parameters if p.name in part]
    return math.hypot(*sizes)


def counted_in_part(shrunk: Sequence[WindowReading], part: frozenset[str], norm: float) -> Verdict:
    """The fail, at the window in which the largest norm was left."""
    worst = max(shrunk, key=lambda r: r.consumed)
    left_out = [p.name for p in worst.match.parameters if p.name not in part]
    return failed(
        ID,
        f"In {worst.where} clipping left norm {show(worst.consumed)} of {show(worst.true)}, and other "
        f"norms elsewhere, but {show(norm)} of {', '.join(sorted(part)[:4])} each time: the norm was "
        f"taken without {', '.join(left_out[:4])}, which nothing bounds. Take it over all parameters.",
        number("norm of the consumed gradient", worst.consumed, worst.where),
        number("norm of the part", norm, worst.where),
    )
