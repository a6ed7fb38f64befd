"""Reading autograd's graph: kinds of nodes, what they add up, and what they were made of."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor

GraphNode = Any
"""A node of autograd's graph."""

MOST_NODES = 20_000
"""Nodes that are looked at for one question."""

SHAPES = (
    "(Unsafe)?View|ReshapeAlias|Reshape|AsStrided|Squeeze|Unsqueeze|Transpose|Permute|T|Clone"
    "|Alias|Expand|Repeat|Flip|Slice|ToCopy|Copy|Stack|Cat|Unbind|Split|CopySlices|Select|Index|Roll"
    "|IndexSelect|IndexPut|MaskedSelect|MaskedFill|Where|Sum|Mean|Cumsum"
)
"""Kinds of nodes that gather numbers in another shape, or add them up."""

LINEAR = re.compile(rf"{SHAPES}|Neg|Add|Sub|Rsub|Mul|Div")
EVERY = re.compile(r".*")


def kind_of(node: GraphNode) -> str:
    """``Mul`` of ``MulBackward0``."""
    return re.sub(r"Backward\w*$|(?<=.)Backwards$", "", type(node).__name__)


def inputs_of(node: GraphNode) -> list[GraphNode]:
    """What it was made of, as far as that has a graph."""
    return [child for child, _ in node.next_functions if child is not None]


def through(
    root: GraphNode, kinds: re.Pattern[str], without: Iterable[GraphNode] = ()
) -> Iterator[GraphNode]:
    """A node and what it was made of, down to and with the first nodes of other kinds. ``without``:
    nodes that are gone by.
    """
    seen, waiting = {root, *without}, [root]
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop()
        yield node
        if kinds.fullmatch(kind_of(node)):
            new = [child for child in inputs_of(node) if child not in seen]
            seen.update(new)
            waiting += new


def leaves_of(root: GraphNode, without: Iterable[GraphNode] = ()) -> dict[int, Tensor]:
    """Leaves that a node was made of, by their ids. ``without``: nodes that are gone by."""
    found: dict[int, Tensor] = {}
    for node in through(root, EVERY, without):
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, Tensor):
            found[id(leaf)] = leaf
    return found


def terms_of(node: GraphNode, kind: str) -> list[tuple[GraphNode | None, bool]]:
    """What a node adds up, each with whether it counts as it is or negative. A number that a term is
    multiplied with is no term; ``x - x.mean()`` is ``x``, and ``x / x.std()`` as well.
    """
    children = [child for child, _ in node.next_functions]
    made_of = inputs_of(node)
    if kind == "Add":
        return [(child, True) for child in children]
    if kind in ("Sub", "Rsub"):
        first, second = children if len(children) == 2 else (children[0], None)
        if kind == "Rsub":
            first, second = second, first
        centred = first is not None and second is not None and kind_of(second) == "Mean"
        return [(first, True)] if centred else [(first, True), (second, False)]
    if kind == "Mul":
        return [(made_of[0], True)] if len(made_of) == 1 else []
    if kind == "Div":
        return [(children[0], True)] if children[0] is not None else []
    return [(child, kind != "Neg") for child in made_of]


def factor_of(node: GraphNode, kind: str) -> float | None:
    """The one number that a node of this kind (``Mul``, ``Div``) multiplies with or divides by; ``None``
    where it is none, or gone.
    """
    if kind_of(node) != kind:
        return None
    try:
        by = node._saved_other
        one = isinstance(by, Tensor) and by.numel() == 1 and not by.is_complex()
        return float(by.detach()) if one else None
    except RuntimeError:  # freed by an earlier backward, changed in place since, or of many samples
        return None
