"""How a probe makes gradients small, large or not finite in any program, whatever it trains on.

Every backward of training starts from a gradient of 1 at its loss. Starting it from another known
number multiplies everything that flows back, in every model and for every loss: the program is the
same, and its gradients are so many times what they were.
"""

import math
from typing import Literal

from pydantic import Field

from harness.domain.record import Record


class OnePass(Record):
    """What happens to one forward that a gradient can flow back through."""

    at: int = Field(ge=0)
    """Which of a rank's forwards with gradient, counted from 0."""
    every: int = Field(default=0, ge=0)
    """It happens again after so many of them; 0: once."""
    rank: int | None = None
    """On which rank alone; ``None``: on each."""
    times: float = Field(default=1.0, gt=0.0)
    """Factor on the gradient that flows back into its outputs."""
    row: Literal["nan", "inf"] | float = 1.0
    """What the first row of each of its outputs is multiplied by; a large number is a spike of the loss
    as well.
    """

    def holds(self, number: int, rank: int) -> bool:
        """Whether it is about this forward of this rank."""
        if self.rank not in (None, rank) or number < self.at:
            return False
        return number == self.at or bool(self.every and (number - self.at) % self.every == 0)

    @property
    def row_factor(self) -> float:
        """The same as a number; records with NaN would equal nothing."""
        return float(self.row)


class Injection(Record):
    """Known factors on the gradients of one execution. The default changes nothing."""

    factor: float = Field(default=1.0, gt=0.0)
    """On the gradient of every loss that is trained on."""
    by_window: tuple[float, ...] = ()
    """A further factor for each window, over again after the last one. A window begins with the first
    backward after a step.
    """
    passes: tuple[OnePass, ...] = ()
    """What happens to single forwards."""

    def of_window(self, window: int) -> float:
        """The factor on gradients of a window, counted from 0."""
        further = self.by_window[window % len(self.by_window)] if self.by_window else 1.0
        return self.factor * further

    def of_pass(self, number: int, rank: int) -> OnePass | None:
        """What happens to a forward with gradient of a rank."""
        return next((one for one in self.passes if one.holds(number, rank)), None)

    @property
    def factors(self) -> frozenset[float]:
        """Every factor that a window may have."""
        return frozenset(self.of_window(window) for window in range(max(1, len(self.by_window))))

    @property
    def scale_divisor(self) -> float:
        """What the initial scale of a GradScaler is divided by, so that what is scaled stays as large
        as it was: a power of two, which costs no precision.
        """
        return 2.0 ** math.ceil(math.log2(max(1.0, self.factor)))
