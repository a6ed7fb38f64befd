"""Layers that torch copies: a model that keeps the one that it gave trains the copies."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import WeakSet

from torch import nn

LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)

_copied: WeakSet[nn.Module] = WeakSet()
"""Layers of which stacks were made, and that nobody has called since."""


def is_one(module: nn.Module) -> bool:
    """Whether a stack was made of its copies, and nobody has called it since."""
    return isinstance(module, LAYERS) and module in _copied


def install() -> None:
    """Patch the stacks."""
    for stack in (nn.TransformerEncoder, nn.TransformerDecoder):
        setattr(stack, "__init__", _noting(stack.__init__))  # noqa: B010 - a method is replaced on purpose


def _noting(made: Callable[..., None]) -> Callable[..., None]:
    @wraps(made)
    def init(stack: Any, *args: Any, **kwargs: Any) -> None:
        made(stack, *args, **kwargs)
        for layer in (*args[:1], *kwargs.values()):
            if isinstance(layer, LAYERS):
                _copied.add(layer)
                layer.register_forward_pre_hook(_called)  # behind the copies, which have none

    return init


def _called(layer: nn.Module, _: object) -> None:
    _copied.discard(layer)
