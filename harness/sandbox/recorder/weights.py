"""Shapes that make a loss another one, as its graph shows: weights of samples that are multiplied with
what is a mean by then, or each with every loss; and predictions that are compared with all targets.
"""

import re
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from harness.sandbox.recorder.nodes import GraphNode, inputs_of, kind_of

REDUCED = re.compile(r"(Mean|Sum)Backward0")
MEAN = re.compile(
    r"(Mean|MseLoss|NllLoss(2D|Nd)?|SmoothL1Loss|HuberLoss|L1Loss|BinaryCrossEntropy(WithLogits)?)"
    r"Backward0"
)
"""Means, and losses that are one by default."""


SHAPED = re.compile(
    r"Unsqueeze|(Unsafe)?View|Reshape(Alias)?|Index|Select|Slice|T|Transpose|Expand"
)
"""Who gives a column this shape on purpose compares each with each."""


def reductions(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """The sums and means among them, about which the others ask."""
    return [node for node in nodes if REDUCED.fullmatch(type(node).__name__)]


def weigh_nothing(nodes: Iterable[GraphNode]) -> str | None:
    """What weights were multiplied with, so that they are lost; ``None`` where none are."""
    for node in nodes:
        product = node.next_functions[0][0]
        if product is None or type(product).__name__ != "MulBackward0":
            continue
        weighed = [child for child, _ in product.next_functions if child is not None]
        weights = _constant(product)
        whole = len(weighed) == 1 and not list(node._input_metadata[0].shape)
        if whole and weights is not None and (lost := _lost(weighed[0], weights)) is not None:
            return lost
    return None


def compares_all(nodes: Iterable[GraphNode]) -> str | None:
    """``(8, 1) beside (8,)`` where a mean is taken of all differences between predictions of one column
    and as many numbers without a gradient; ``None`` where there is none.
    """
    for node in nodes:
        made_of = inputs_of(node)
        sizes = _shape(made_of[0]) if made_of and not _shape(node) else []
        if len(sizes) == 2 and sizes[0] == sizes[1] > 1 and _goes_over_columns(made_of[0], sizes):
            return f"({sizes[0]}, 1) beside ({sizes[0]},)"
    return None


def _goes_over_columns(node: GraphNode, sizes: list[int]) -> bool:
    """Whether what is done to each number of a square begins at the difference of a column and a row."""
    seen, waiting = {node}, [node]
    while waiting:
        one = waiting.pop()
        made_of = inputs_of(one)
        columns = [
            child for child in made_of
            if _shape(child) == [sizes[0], 1] and not SHAPED.fullmatch(kind_of(child))
        ]  # fmt: skip
        if kind_of(one) in ("Sub", "Rsub") and len(made_of) == len(columns) == 1:
            return True
        new = [child for child in made_of if child not in seen and _shape(child) == sizes]
        seen.update(new)
        waiting += new
    return False


def _shape(node: GraphNode) -> list[int]:
    known = getattr(node, "_input_metadata", None)  # a leaf has none
    return list(known[0].shape) if known else []


def _constant(product: GraphNode) -> Tensor | None:
    """The factor without a gradient, where it holds several numbers."""
    try:
        factors = (product._saved_self, product._saved_other)
    except RuntimeError:  # freed, or changed in place since
        return None
    return next((f.detach() for f in factors if isinstance(f, Tensor) and f.numel() > 1), None)


def _lost(weighed: GraphNode, weights: Tensor) -> str | None:
    losses = list(weighed._input_metadata[0].shape)
    if not losses:
        is_mean = MEAN.fullmatch(type(weighed).__name__) is not None
        return "one mean for all samples" if is_mean else None
    places = range(-1, -max(len(losses), weights.dim()) - 1, -1)
    both = [(_size(losses, p), _size(weights.shape, p)) for p in places]
    differ = bool((weights != weights.flatten()[0]).any())
    crossed = differ and all(1 in pair for pair in both) and max(losses) > 1
    return "losses along another axis" if crossed else None


def _size(shape: Any, place: int) -> int:
    return shape[place] if -place <= len(shape) else 1
