"""Parameters that a program changes without an optimizer: ``p -= lr * p.grad``.

Nothing is called that could be wrapped once. So, between the first backward and the first step of an
optimizer, whatever may write into a parameter is watched on the class of parameters, and gradients
are taken before it writes. Where an optimizer steps, all of it is gone again.
"""

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from harness.domain.event import ByHand
from harness.sandbox.recorder.injected import inputs_in
from harness.sandbox.recorder.numbers import NamedNumber, numbers_around
from harness.sandbox.recorder.tape import Blob, Tape
from harness.sandbox.recorder.transforms import outside

_METHODS = (
    "add_", "sub_", "subtract_", "mul_", "multiply_", "div_", "copy_", "lerp_", "addcmul_", "addcdiv_",
    "set_", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__setitem__", "__getitem__",
    "detach", "numpy", "view", "flatten",
)  # fmt: skip
"""What writes into a parameter, or hands out its memory."""
_JOINED = ("add_", "sub_", "mul_", "div_", "lerp_", "addcmul_", "addcdiv_", "copy_")


class _Before(NamedTuple):
    """What there was before parameters were written into."""

    gradients: dict[str, Tensor]
    numbers: tuple[NamedNumber, ...]


class HandUpdates:
    """Writes an event for the changes between two other events."""

    _watching: ClassVar["HandUpdates | None"] = None

    def __init__(self, tape: Tape) -> None:
        """Nothing is watched before the first backward."""
        self._tape = tape
        self._before: _Before | None = None
        self._over = self._busy = False
        self._kind: type[Tensor] = nn.Parameter
        self._own: dict[tuple[Any, str], Any] = {}
        """What stood in the places that are watched."""

    def after_backward(
        self, arguments: tuple[Any, ...], named: dict[str, Any], result: object
    ) -> Iterator[Blob]:
        """What changes parameters from here on may be an update. ``ret:<name>``: what
        ``torch.autograd.grad`` returned for them.
        """
        if self._over or self._tape.large:
            return
        if HandUpdates._watching is None:
            HandUpdates._watching = self
            self._tape.before_write = self._settle
            self._kind = Tensor if self._tape.has_plain else nn.Parameter
            for place, name, replacement in _REPLACED[self._kind]:
                self._own[place, name] = vars(place).get(name)
                setattr(place, name, replacement)
        found = result if isinstance(result, tuple) else ()
        for tensor, gradient in zip(inputs_in(arguments, named), found, strict=False):
            known = isinstance(tensor, self._kind) and self._tape.knows(tensor)
            if isinstance(gradient, Tensor) and known:
                yield self._tape.blob(f"ret:{self._tape.name(tensor)}", gradient)

    def end(self) -> None:
        """An optimizer steps, or the program is over: from here on nothing is watched."""
        self._over = True
        if HandUpdates._watching is not self:
            return
        self._settle()
        self._tape.before_write = HandUpdates._watching = None
        for (place, name), own in self._own.items():
            if own is None:  # what it inherits
                delattr(place, name)
            else:
                setattr(place, name, own)

    def look(self, caller: FrameType, into: object) -> None:
        """Take the gradients; once something was written, that of what comes next (``into``) alone, for
        a loop may divide each one just before it is used.
        """
        if self._busy or caller.f_globals.get("__name__", "").startswith("harness."):
            return
        self._busy = True
        try:
            with outside():
                if not self._tape.has_changed():
                    self._before = _Before(self._tape.gradient_values(), numbers_around(caller))
                elif self._before is not None and isinstance(into, self._kind):
                    self._before.gradients.update(self._tape.gradient_of_unchanged(into))
        finally:
            self._busy = False

    def _settle(self) -> None:
        """Another event comes: what was changed before it is told first."""
        if self._busy or self._before is None:
            return
        before, self._before = self._before, None
        self._busy = True
        try:
            with outside():
                changed = self._tape.changed_unseen()
                if changed:
                    gradients = (
                        self._tape.blob(f"grad:{n}", g) for n, g in before.gradients.items()
                    )
                    event = ByHand(numbers=before.numbers)
                    self._tape.write(event, [*gradients, *self._tape.values(changed)])
        finally:
            self._busy = False


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        watching = HandUpdates._watching
        if watching is not None:
            watching.look(sys._getframe(1), args[0] if args else None)
        return original(*args, **kwargs)

    return watched


def _replaced(kind: type[Tensor]) -> tuple[tuple[Any, str, Any], ...]:
    """Where, under which name, by what, for parameters or for all tensors."""
    data = property(_watched(Tensor.data.__get__), _watched(Tensor.data.__set__))  # type: ignore[attr-defined]  # a descriptor of torch's
    return (
        *((kind, name, _watched(getattr(Tensor, name))) for name in _METHODS),
        (kind, "data", data),
        *((torch, f"_foreach_{n}", _watched(getattr(torch, f"_foreach_{n}"))) for n in _JOINED),
    )


_REPLACED = {kind: _replaced(kind) for kind in (nn.Parameter, Tensor)}
"""Made once, in the process that is forked."""
