"""Activation checkpointing that leaves gradients as they are.

Source: torch.utils.checkpoint. The reentrant variant runs the segment without a graph and returns a
result that requires gradient only if an input does; a batch does not, so the first segment would
train nothing, with a warning at most. The other variant has no such rule.
"""

from itertools import pairwise

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def checkpointed(layers: nn.Sequential, x: Tensor, segments: int) -> Tensor:
    """The layers' output, with activations kept at the borders of the segments only.

    Args:
        layers: run in order.
        x: a batch, in the shape that the first layer takes.
        segments: pieces of about equal length, each recomputed in backward.

    Returns:
        What ``layers(x)`` returns; gradients are the same to rounding.

    Raises:
        ValueError: segments is less than 1 or more than there are layers.
    """
    if not 1 <= segments <= len(layers):
        raise ValueError(f"{len(layers)} layers cannot be cut into {segments} segments")
    borders = [round(i * len(layers) / segments) for i in range(segments + 1)]
    for start, end in pairwise(borders):
        x = checkpoint(layers[start:end], x, use_reentrant=False)
    return x
