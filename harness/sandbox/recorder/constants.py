"""Terms of a loss that have no gradient: some were meant to have one, as penalties on gradients that
cannot be differentiated again, or on weights that were taken out of the graph. Derivatives by an
input, as those of a differential equation, are followed into what they are added to or multiply.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn

from harness.sandbox.recorder.transforms import memory_of, unwrapped

ADDING = ("__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__isub__")
MULTIPLYING = ("__mul__", "__rmul__")

ADDS_UP = frozenset(f"{kind}Backward0" for kind in ("Add", "Sub", "Mul", "Div", "Neg"))
"""Nodes of a graph through which a loss is a sum."""

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
        self._derived: dict[int, Tensor] = {}
        """Derivatives by an input that have no graph, and what was made of them, by their memory, since
        the last backward.
        """
        self._met: list[GraphNode] = []
        """Where these met something with a graph."""
        self._mixed = 0
        """How many losses hold such a place."""
        self.values: list[float] = []
        """What such terms added up to in the first losses that had any. What they follow, another run
        shows: the data, or the weights.
        """

    def install(self) -> None:
        """Patch the operators of tensors."""
        for name in ADDING:
            setattr(Tensor, name, self._watched(getattr(Tensor, name)))
        for name in MULTIPLYING:
            setattr(Tensor, name, self._following(getattr(Tensor, name)))

    def cut(self) -> None:
        """A gradient was computed without a graph of its own."""
        self._cut = True

    def derived(self, inputs: Iterable[object], gradients: object) -> None:
        """These are gradients without a graph. By data they are derivatives; by anything else a program
        uses them for itself.
        """
        found = gradients if isinstance(gradients, tuple | list) else ()
        for one, gradient in zip(inputs, found, strict=False):
            data = isinstance(one, Tensor) and one.is_leaf and not isinstance(one, nn.Parameter)
            if data and isinstance(gradient, Tensor) and gradient.dim() > 0:
                self._derived[memory_of(gradient)] = gradient

    def before_backward(
        self, root: GraphNode, nodes: Iterable[GraphNode], *, stepped: bool
    ) -> None:
        """A loss goes backward: see what it adds up. ``nodes``: all of its graph; ``stepped``: whether
        an optimizer has stepped.
        """
        met, self._met = self._met, []
        self._mixed += bool(met) and not {*met}.isdisjoint(nodes)
        self._derived.clear()
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
        return max(self._mixed, self._backwards if len(self._values - {0.0}) >= FEW else 0)

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def add(one: Tensor, other: Any) -> Any:
            result = original(one, other)
            if isinstance(other, Tensor) and one.requires_grad != other.requires_grad:
                self._note(other if one.requires_grad else one, result)
            elif type(other) is float and one.requires_grad and one.dim() == 0:
                self._added.append((result.grad_fn, other))
            if self._derived:
                self._follow(one, other, result)
            return result

        return add

    def _following(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def multiply(one: Tensor, other: Any) -> Any:
            result = original(one, other)
            if self._derived:
                self._follow(one, other, result)
            return result

        return multiply

    def _follow(self, one: Tensor, other: object, result: object) -> None:
        """What is made of a derivative, or where it meets what is trained; data alone are not."""
        operands = [x for x in (one, other) if isinstance(x, Tensor)]
        if not isinstance(result, Tensor) or not any(
            memory_of(x) in self._derived for x in operands
        ):
            return
        if not result.requires_grad:
            self._derived[memory_of(result)] = result
        elif any(x.grad_fn is not None for x in operands):
            self._met.append(result.grad_fn)

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
        if type(node).__name__ in ADDS_UP and node not in found:
            found.add(node)
            waiting += [child for child, _ in node.next_functions if child is not None]
    return found
