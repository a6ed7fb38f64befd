"""Draws from a distribution whose parameters are trained, handed on without a way back to these."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, is_grad_enabled
from torch.distributions import Normal

from harness.sandbox.recorder.transforms import memory_of

GraphNode = Any
"""A node of autograd's graph."""

SAVED = ("_saved_mat1", "_saved_input", "_saved_self", "_saved_other")
"""Under these names a node keeps what went into it."""

OFTEN = 3
"""In so many losses."""


class Draws:
    """Looks at ``Normal.sample``, which has a way back only through ``log_prob``, and at
    ``torch.normal``, whose way back carries zeros.
    """

    def __init__(self) -> None:
        """Nothing was drawn yet."""
        self._drawn: dict[int, Tensor] = {}
        """Since the last backward, by their memory."""
        self._losses = 0
        self._used_otherwise = False
        """Whether a score was computed, or a draw that has a way back."""

    def install(self) -> None:
        """Patch the class and the function."""
        sample: Callable[..., Tensor] = Normal.sample

        @functools.wraps(sample)
        def drawn(normal: Normal, *args: Any, **kwargs: Any) -> Tensor:
            found: Tensor = sample(normal, *args, **kwargs)
            if is_grad_enabled() and normal.loc.grad_fn is not None:
                self._drawn[memory_of(found)] = found
            return found

        normal: Callable[..., Tensor] = torch.normal

        @functools.wraps(normal)
        def plainly_drawn(*args: Any, **kwargs: Any) -> Tensor:
            found = normal(*args, **kwargs)
            of = (*args, *kwargs.values())
            if is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in of):
                self._drawn[memory_of(found)] = found
            return found

        setattr(torch, "normal", plainly_drawn)  # noqa: B010 - a function is replaced on purpose
        setattr(Normal, "sample", drawn)  # noqa: B010 - a method is replaced on purpose
        for name in ("rsample", "log_prob"):
            setattr(Normal, name, self._noting(getattr(Normal, name)))

    def before_backward(self, nodes: Iterable[GraphNode]) -> None:
        """A loss goes backward, with these nodes: see whether a draw went into one of them."""
        drawn, self._drawn = self._drawn, {}
        if drawn:
            self._losses += any(memory_of(x) in drawn for node in nodes for x in _saved(node))

    @property
    def cut_off(self) -> bool:
        """Whether losses were made of draws, and of them alone, that lead back to nothing."""
        return self._losses >= OFTEN and not self._used_otherwise

    def _noting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self._used_otherwise = True
            return function(*args, **kwargs)

        return noted


def _saved(node: GraphNode) -> Iterable[Tensor]:
    for name in SAVED:
        try:
            value = getattr(node, name, None)
        except RuntimeError:  # freed, or changed in place since
            continue
        if isinstance(value, Tensor):
            yield value
