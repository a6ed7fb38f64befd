"""Calls of a Sequential's layers one by one, which together are a call of the model.

``checkpoint_sequential(model, 2, x)``, ``model[:4]`` and loops over the layers never call the model
itself. Each layer that takes what the one before returned goes on with the chain; the last ends it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

Whole = Callable[[nn.Module, Tensor, Tensor], object]
"""``(model, input, output)`` of a call that was made layer by layer; returns what its caller gets."""


@dataclass(slots=True)
class _Chain:
    """How far a call has come."""

    model: nn.Sequential
    layers: tuple[nn.Module, ...]
    done: int
    entered: Tensor
    last: Tensor


class Chains:
    """Puts calls of layers together again."""

    def __init__(self, whole: Whole) -> None:
        """``whole``: told of each call that went through all layers."""
        self._whole = whole
        self._models: list[nn.Sequential] = []
        self._chains: dict[int, _Chain] = {}

    def watch(self, model: nn.Module) -> None:
        """Look for calls of this model's layers, if it is a Sequential."""
        if isinstance(model, nn.Sequential) and len(model) > 1:
            self._models.append(model)

    def called(self, layer: nn.Module, inputs: object, output: object) -> object:
        """A module was called, by itself or by another that is not watched. Returns what its caller
        gets instead of ``output``, or ``None``.
        """
        returned = None
        for model in self._models:
            if layer in model.children():
                returned = self._go_on(model, layer, inputs, output)
        return returned

    def _go_on(
        self, model: nn.Sequential, layer: nn.Module, inputs: object, output: object
    ) -> object:
        given = inputs[0] if isinstance(inputs, tuple) and len(inputs) == 1 else None
        if not isinstance(given, Tensor) or not isinstance(output, Tensor):
            return None
        chain = self._chains.get(id(model))
        if layer is model[0]:
            chain = _Chain(model, tuple(model), 0, given, given)
        elif chain is None or layer is not chain.layers[chain.done] or not _same(given, chain.last):
            self._chains.pop(id(model), None)
            return None
        chain.done, chain.last = chain.done + 1, output
        self._chains[id(model)] = chain
        if chain.done == len(chain.layers):
            del self._chains[id(model)]
            return self._whole(model, chain.entered, output)
        return None


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether it is the same values: checkpointing returns another tensor over the same memory."""
    return one is other or (one.data_ptr() == other.data_ptr() and one.shape == other.shape)
