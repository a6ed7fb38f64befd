"""SelfAverages of parameters with themselves: what was kept of them is no copy, but their own memory."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor

from harness.sandbox.recorder.tape import Tape

ROUNDING = 1e-6
"""By how much two shares of an average may miss 1."""


class SelfAverages:
    """Wraps ``lerp_``, and ``add_`` after ``mul_``, of tensors; ``count``: how often parameters were
    averaged with themselves.
    """

    def __init__(self, tape: Tape) -> None:
        """``tape`` knows the parameters."""
        self._tape = tape
        self._share: tuple[int, object] | None = None
        self.count = 0

    def install(self) -> None:
        """Patch the class."""
        for name, sees in (("lerp_", self._lerp), ("mul_", self._mul), ("add_", self._add)):
            setattr(Tensor, name, _watched(getattr(Tensor, name), sees))

    def _mul(self, tensor: Tensor, by: object, **_: object) -> None:
        self._share = (tensor.data_ptr(), by) if isinstance(by, float) else None

    def _add(self, tensor: Tensor, other: object, *, alpha: object = 1) -> None:
        share, self._share = self._share, None
        if share is None or share[0] != tensor.data_ptr() or not isinstance(alpha, float):
            return
        if isinstance(share[1], float) and abs(share[1] + alpha - 1) < ROUNDING:
            self._lerp(tensor, other)

    def _lerp(self, tensor: Tensor, other: object, *_: object, **__: object) -> None:
        where = tensor.data_ptr()
        if isinstance(other, Tensor) and other.data_ptr() == where != 0:
            self.count += self._tape.has_at(where)


def _watched(original: Callable[..., Any], sees: Callable[..., None]) -> Callable[..., Any]:
    @wraps(original)
    def watched(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        if args:
            sees(tensor, *args, **kwargs)
        return original(tensor, *args, **kwargs)

    return watched
