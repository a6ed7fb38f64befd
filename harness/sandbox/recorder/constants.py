"""Terms of a loss that have no gradient: some were meant to have one, as penalties on gradients that
cannot be differentiated again, or on weights that were taken out of the graph.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from torch import Tensor

from harness.sandbox.recorder.transforms import unwrapped

ADDING = ("__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__")

FEW = 3
"""So many different values make a constant one that is computed anew each time."""

MOST = 16
"""So many values of such terms are told."""

GraphNode = Any
"""A node of autograd's graph."""


class Constants:
    """Looks at numbers without a gradient that a program adds to its loss."""

    def __init__(self) -> None:
        """Nothing was added yet."""
        self._added: deque[tuple[GraphNode, float]] = deque(maxlen=64)
        self._cut = False
        """Whether a gradient was computed without a graph since the last backward."""
        self._values = set[float]()
        self._backwards = 0
        self.values: list[float] = []
        """What such terms added up to in the first losses that had any. What they follow, another run
        shows: the data, or the weights.
        """

    def install(self) -> None:
        """Patch the operators of tensors."""
        for name in ADDING:
            setattr(Tensor, name, self._watched(getattr(Tensor, name)))

    def cut(self) -> None:
        """A gradient was computed without a graph of its own."""
        self._cut = True

    def before_backward(self, root: GraphNode, *, stepped: bool) -> None:
        """A loss goes backward: see what it adds up. ``stepped``: whether an optimizer has stepped."""
        found = [value for node, value in self._added if node in sums(root)]
        self._added.clear()
        cut, self._cut = self._cut, False
        if cut and found:
            self._values.update(found)
            self._backwards += 1
        if found and stepped and not self.values:
            self.values.append(0.0)  # as in the losses before
        if found and len(self.values) < MOST:
            self.values.append(sum(found))

    @property
    def backwards(self) -> int:
        """How many losses held such a term; 0 as long as it might be one number."""
        return self._backwards if len(self._values - {0.0}) >= FEW else 0

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def add(one: Tensor, other: Any) -> Any:
            result = function(one, other)
            if isinstance(other, Tensor) and one.requires_grad != other.requires_grad:
                self._note(other if one.requires_grad else one, result)
            return result

        return add

    def _note(self, constant: Tensor, result: Any) -> None:
        if not isinstance(result, Tensor) or result.grad_fn is None or result.dim() != 0:
            return
        plain = unwrapped([constant]) if constant.is_floating_point() else None
        if plain and plain[0].numel() == 1:  # under vmap it is one number of many
            self._added.append((result.grad_fn, float(plain[0])))


def sums(root: GraphNode) -> set[GraphNode]:
    """The additions of which a loss is a sum, whatever it is multiplied with."""
    found, waiting = set[GraphNode](), [root]
    while waiting:
        node = waiting.pop()
        name = type(node).__name__
        if name in ("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "NegBackward0"):
            found.add(node)
            waiting += [child for child, _ in node.next_functions if child is not None]
    return found
