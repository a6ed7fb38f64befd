"""Calls of torch's clipping functions. They explain a verdict; values at the step decide it."""

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from types import GeneratorType
from typing import Any

import torch
from torch import Tensor

from harness.domain.event import Clip
from harness.sandbox.recorder.tape import Tape

FUNCTIONS = ("clip_grad_norm_", "clip_grads_with_norm_", "clip_grad_value_", "get_total_norm")
"""Public functions of ``torch.nn.utils`` that clip or measure."""


@cache
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """What a function takes; the zygote asks first, since it takes a fork milliseconds."""
    return inspect.signature(function)


class Clips:
    """Replaces the functions where programs look them up."""

    def __init__(self, tape: Tape, clipped: Callable[[Iterable[Tensor]], None]) -> None:
        """Write to ``tape``. ``clipped`` is told of which parameters a clip took the gradients."""
        self._tape = tape
        self._clipped = clipped
        self._inside = False

    def install(self) -> None:
        """Patch ``torch.nn.utils`` and the module that defines the functions."""
        for name in FUNCTIONS:
            replacement = self._recorded(name, getattr(torch.nn.utils, name))
            for module in (torch.nn.utils, torch.nn.utils.clip_grad):
                setattr(module, name, replacement)

    def _recorded(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = signature_of(original)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
                first, given = next(iter(bound.arguments.items()))
                _ = isinstance(given, Tensor) or iter(given)
            except TypeError:  # torch says what is wrong
                return original(*args, **kwargs)
            items, bound.arguments[first] = _listed(given)
            inside, self._inside = self._inside, True
            try:
                result = original(*bound.args, **bound.kwargs)
            finally:
                self._inside = inside
            if not self._inside:
                self._write(name, items, bound.arguments, result)
            return result

        call.__name__ = name
        return call

    def _write(
        self, name: str, items: list[Tensor], arguments: dict[str, Any], result: object
    ) -> None:
        threshold = arguments.get("max_norm", arguments.get("clip_value"))
        if threshold is not None:
            self._clipped(items)
        with_gradient = [
            t for t in items if name == "get_total_norm" or getattr(t, "grad", None) is not None
        ]
        self._tape.write(
            Clip(
                function=name,
                threshold=float(threshold) if threshold is not None else None,
                returned=float(result) if isinstance(result, Tensor) else None,
                parameters=len(with_gradient),
            )
        )


def _listed(argument: Tensor | Iterable[Tensor]) -> tuple[list[Tensor], object]:
    """The tensors, and an argument of the same kind: an empty generator has to stay one, for torch
    warns of it.
    """
    if isinstance(argument, Tensor):
        return [argument], argument
    items = list(argument)
    return items, (t for t in items) if isinstance(argument, GeneratorType) else items
