"""The three executions in which any program is seen: as it is, with small gradients, with large ones.

What is small and large depends on the thresholds of the program and on its own gradients. Both are known
after the first execution: ``fitted`` reads them off.
"""

import math
from statistics import median

from harness.domain.clip_call import ClipCall, clip_calls, norm_met
from harness.domain.injection import Injection
from harness.domain.record import Record
from harness.domain.trace import ProbeTrace

BELOW = 4.0
"""How many times smaller than the smallest threshold the largest gradient of the quiet execution is."""

ABOVE = 8.0
"""How many times larger than the largest threshold gradients of the loud execution are."""

PARTS = 8.0
"""And how many times more where a clip looks at elements, or at parts of the model."""

STRAY = 1e-3
"""Gradients so much smaller than the usual one say nothing about what is loud."""

CLIPPED = 0.99
"""What is shrunk below this was clipped."""


class Regime(Record):
    """One way in which a program is seen."""

    name: str
    """Short id, which is that of its probe."""
    lifts: str
    """What would hide a fault, and how this avoids it."""
    injection: Injection
    """What is done to its gradients."""


AS_IT_IS = Regime(
    name="as-it-is",
    lifts="The program runs as it is: whatever is changed about it may hide a fault.",
    injection=Injection(),
)
QUIET = Regime(
    name="quiet",
    lifts="An active clip hides every factor on the gradient. Here gradients are far below it.",
    injection=Injection(factor=2.0**-10),
)
UNEVEN = QUIET.model_copy(update={"injection": Injection(factor=2.0**-10, by_window=(1.0, 0.125))})
"""The quiet one where no clip asks for it: an adaptive optimizer would divide a common factor out."""
LOUD = Regime(
    name="loud",
    lifts="Below its threshold a clip that is missing or wrong does not show. Here gradients are far "
    "above it.",
    injection=Injection(factor=2.0**10),
)
REGIMES = (AS_IT_IS, QUIET, LOUD)
"""All of them, with factors for programs of which nothing is known."""


def fitted(first: ProbeTrace) -> tuple[Regime, ...]:
    """The regimes with factors for the program whose first execution, as it is, this was. One in which
    nothing would differ from the first has a factor of 1. Factors are powers of two, which round
    nothing.
    """
    norms, limits = _met(first), thresholds(first)
    if not norms or not limits:
        return REGIMES
    usual = [norm for norm in norms if norm > STRAY * median(norms)]
    above = ABOVE * (PARTS if _by_parts(first) else 1.0)
    down = min(1.0, min(limits) / (BELOW * max(norms)))
    up = max(1.0, above * max(limits) / min(usual))
    return (
        AS_IT_IS,
        _with(QUIET, 2.0 ** math.floor(math.log2(down))),
        _with(LOUD, 2.0 ** math.ceil(math.log2(up))),
    )


def thresholds(trace: ProbeTrace) -> tuple[float, ...]:
    """Thresholds at which the program clips: those of its calls, and the size of what it shrank by
    other means.
    """
    called = [c.limit for c in _calls(trace) if c.bounds and c.limit]
    if called:
        return tuple(sorted(set(called)))
    computed = (u.match("as-computed") for u in trace.updates)
    shrunk = [m for m in computed if m and 0.0 < m.ratio < CLIPPED]
    if len({float(f"{m.ratio:.3g}") for m in shrunk}) == 1 < len(shrunk):
        return ()  # a divisor
    return tuple(sorted({float(f"{m.consumed_norm:.3g}") for m in shrunk}))


def computed_norms(trace: ProbeTrace) -> list[float]:
    """Norms of what was computed for each update, before any clip."""
    computed = (u.match("as-computed") for u in trace.updates)
    return [m.expected_norm for m in computed if m and 0.0 < m.expected_norm < math.inf]


def _met(trace: ProbeTrace) -> list[float]:
    """The same, or what was left of it where a clip met it."""
    computed = [(u, m) for u in trace.updates if (m := u.match("as-computed")) is not None]
    met = [min(norm_met(u, m.consumed_norm) or math.inf, m.expected_norm) for u, m in computed]
    return [norm for norm in met if 0.0 < norm < math.inf]


def _calls(trace: ProbeTrace) -> list[ClipCall]:
    return [call for update in trace.updates for call in clip_calls(update)]


def _by_parts(trace: ProbeTrace) -> bool:
    """Whether a clip looked at elements, or at fewer gradients than there were."""
    return any(
        call.function == "clip_grad_value_" or call.gradients < (update.gradients or 0)
        for update in trace.updates
        for call in clip_calls(update)
    )


def _with(regime: Regime, factor: float) -> Regime:
    return regime.model_copy(update={"injection": Injection(factor=factor)})
