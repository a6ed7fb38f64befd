"""What torch's own loss functions returned, before the program made anything else of it."""

import functools
from collections.abc import Callable
from typing import ParamSpec

from torch import Tensor, nn

from harness.sandbox.recorder.transforms import outside, unwrapped

P = ParamSpec("P")

MEANS = (
    "mse_loss", "cross_entropy", "nll_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits",
)  # fmt: skip
"""Functions whose default is a mean; modules such as ``MSELoss`` go through them."""


class Losses:
    """Remembers means that can carry gradient until a backward takes them."""

    def __init__(self) -> None:
        """Nothing was returned yet."""
        self._returned: list[tuple[str, float]] = []

    def install(self) -> None:
        """Patch torch; called once in a process that then runs one candidate."""
        for name in MEANS:
            setattr(nn.functional, name, self._recorded(getattr(nn.functional, name)))

    def take(self) -> tuple[tuple[str, float], ...]:
        """The means since the last time, in order, each with the function that returned it."""
        taken, self._returned = tuple(self._returned), []
        return taken

    def _recorded(self, function: Callable[P, Tensor]) -> Callable[P, Tensor]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Tensor:
            result = function(*args, **kwargs)
            if kwargs.get("reduction", "mean") == "mean" and result.requires_grad:
                plain = unwrapped([result]) or []
                with outside():
                    # at once: the program may divide the result in place
                    means = (float(p.detach()) for p in plain if p.numel() == 1)
                    self._returned += [(function.__name__, mean) for mean in means]
            return result

        return wrapper
