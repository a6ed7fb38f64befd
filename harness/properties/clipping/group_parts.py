"""One group of parameters in one window: what the optimizer should have consumed for it, and did."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.domain.scenario import Group
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.thresholds import NAMED


@dataclass(frozen=True, slots=True)
class GroupInWindow:
    """One group of parameters in one window."""

    reading: WindowReading
    """The window."""
    true: float
    """Norm of the group's true gradient."""
    consumed: float
    """Norm of what the optimizer consumed for it."""
    kept: float
    """Fraction of its true gradient that arrived."""

    @property
    def raised(self) -> bool:
        """Whether the group's gradient arrived in its true direction, and enlarged."""
        slack = self.reading.window.tolerance
        along = abs(self.consumed - self.kept * self.true) <= max(slack, NAMED) * self.consumed
        return along and self.kept > 1.0 + slack

    @property
    def whole(self) -> bool:
        """Whether the group's gradient arrived whole, up to rounding."""
        return abs(self.kept - 1.0) <= max(self.reading.window.tolerance, NAMED)


def parts_of(readings: Sequence[WindowReading], group: Group) -> list[GroupInWindow]:
    """The group's part of every window in which it has one."""
    return [p for r in readings if (p := part_of(r, group)) is not None]


def part_of(reading: WindowReading, group: Group) -> GroupInWindow | None:
    """The group's part of a window; ``None`` where its true gradient is 0 or absent, or it is frozen."""
    frozen = reading.update.frozen
    mine = [p for p in reading.match.parameters if group.holds(p.name) and p.name not in frozen]
    true = math.fsum(p.expected_norm**2 for p in mine)
    if true == 0.0:
        return None
    consumed = math.sqrt(math.fsum((p.consumed_norm or 0.0) ** 2 for p in mine))
    return GroupInWindow(reading, math.sqrt(true), consumed, math.fsum(p.dot for p in mine) / true)
