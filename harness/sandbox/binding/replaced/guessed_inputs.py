"""Inputs that a model of the program's own might accept, guessed from its layers."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

ROWS = 4
"""Samples in a guessed batch."""


def guesses(model: nn.Module) -> Iterator[Tensor]:
    """Inputs of shapes that its layers would accept."""
    seen: set[tuple[Any, ...]] = set()
    for layer in _layers(model):
        for shape, classes in _taken(layer):
            if (shape, classes) not in seen:
                seen.add((shape, classes))
                yield torch.randint(1, classes, shape) if classes else torch.randn(shape)


def _layers(model: nn.Module) -> Iterator[nn.Module]:
    """All of them: also those in plain lists, whose parameters are nobody's."""
    for module in model.modules():
        yield module
        held = (one for some in lists_of(module) for one in some if isinstance(one, nn.Module))
        yield from (layer for one in held for layer in one.modules())


def _taken(layer: nn.Module) -> list[tuple[tuple[int, ...], int]]:
    """Shapes of inputs, and how many classes they are of; 0 for numbers."""
    shapes: list[tuple[int, ...]] = []
    match layer:
        case nn.Embedding():
            return [(shape, layer.num_embeddings) for shape in ((ROWS, 8), (ROWS,))]
        case nn.Linear():
            shapes = [(layer.in_features,), (5, layer.in_features)]
        case nn.Conv1d():
            shapes = [(layer.in_channels, 32)]
        case nn.Conv2d():
            shapes = [(layer.in_channels, side, side) for side in (8, 16, 28, 32, 64)]
        case nn.RNNBase():
            shapes = [(5, layer.input_size)]
        case nn.LayerNorm():
            shapes = [(*lead, *layer.normalized_shape) for lead in ((), (5,))]
    return [((ROWS, *shape), 0) for shape in shapes]


def lists_of(home: Any) -> Iterator[list[Any]]:
    """Lists among the attributes of a module or the globals of a program, also inside dictionaries."""
    for value in list(vars(home).values()):
        within = value.values() if isinstance(value, dict) else [value]
        yield from (held for held in list(within) if isinstance(held, list))
