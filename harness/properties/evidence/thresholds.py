"""Clipping thresholds that a scenario accepts, and what counts as far above and far below them."""

from dataclasses import dataclass

from harness.domain.scenario import Expectations

NAMED = 0.01
"""Relative distance of a realised threshold from the named one that epsilon, rounding and half
precision explain.
"""

FAR = 2.0
"""A norm above this many thresholds is loud; one below a threshold over this number is quiet."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest threshold that the scenario accepts."""

    low: float
    """Smallest."""
    high: float
    """Largest."""

    def accept(self, threshold: float) -> bool:
        """Whether this threshold is accepted."""
        return self.low * (1.0 - NAMED) <= threshold <= self.high * (1.0 + NAMED)

    def loud(self, norm: float) -> bool:
        """Whether clipping must act on this norm, and visibly."""
        return norm > FAR * self.high

    def quiet(self, norm: float) -> bool:
        """Whether clipping must leave this norm alone."""
        return norm < self.low / FAR

    def __str__(self) -> str:
        """``1`` or ``0.5 to 2``."""
        return f"{self.low:.3g}" if self.low == self.high else f"{self.low:.3g} to {self.high:.3g}"


def bounds_of(expectations: Expectations) -> Bounds | None:
    """The thresholds that the scenario accepts; ``None`` when it does not ask for clipping."""
    if expectations.max_norm is not None:
        return Bounds(expectations.max_norm, expectations.max_norm)
    if expectations.max_norm_between is not None:
        return Bounds(*expectations.max_norm_between)
    return None
