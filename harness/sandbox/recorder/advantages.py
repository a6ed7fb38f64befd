"""Policy losses that train the critic: ``-(log_prob * advantage).mean()`` with an advantage that was
left in the graph sends a gradient into the value head, which raises or lowers values without end.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from torch import Tensor
from torch.distributions import Distribution
from torch.optim import Optimizer
from torch.utils.weak import TensorWeakRef

from harness.sandbox.recorder.tape import dense

GraphNode = Any
"""A node of autograd's graph."""

NAME = "log_prob"
MARK = "log_prob of a distribution"
"""Key in the metadata of a node: they live as long as the node, and keep nothing alive."""

ENOUGH = 3
"""After so many steps no further loss is looked at."""

MOST_NODES = 20_000
"""Nodes that are looked at for one question."""

SHAPES = (
    "(Unsafe)?View|ReshapeAlias|Reshape|AsStrided|Squeeze|Unsqueeze|Transpose|Permute|T|Clone"
    "|Alias|Expand|Repeat|Flip|Slice|ToCopy|Copy|Stack|Cat|Unbind|Split|CopySlices|Select|Index|Roll"
    "|IndexSelect|IndexPut|MaskedSelect|MaskedFill|Where|Sum|Mean|Cumsum"
)
"""Kinds of nodes that gather numbers in another shape, or add them up."""

LINEAR = re.compile(rf"{SHAPES}|Neg|Add|Sub|Rsub|Mul|Div")
OF_A_LOSS = re.compile(rf"{LINEAR.pattern}|Minimum|Maximum|Clamp|ClampMin|ClampMax")
OF_A_RATIO = re.compile(rf"{OF_A_LOSS.pattern}|Exp")
VALUES = re.compile(r"Addmm|Mm|Mv|Dot|Bmm|Baddbmm|Linear|Embedding")
"""What makes a value that has no bounds: a layer, not a gate or a probability."""

PICKS = ("Gather", "Index", "Select", "NllLoss")
"""What takes the chosen action's entry out of the logarithms of all."""

PLAIN = re.compile(r"(Unsafe)?View|Squeeze|Unsqueeze|ToCopy|Neg|Add|Clamp|Log|" + "|".join(PICKS))
"""What may stand between such an entry and the softmax."""

DEEP = 12
"""So many nodes between the two are looked through."""

PRODUCTS = ("Mul", "Dot")


class _Product(NamedTuple):
    """Two things that carry gradient and are multiplied: a log-probability, and its weight."""

    log_prob: GraphNode
    weight: GraphNode


class Advantages:
    """Looks at the loss of each backward, and whether a step consumes what it sent into a critic."""

    def __init__(self) -> None:
        """No loss was seen yet."""
        self.consumed = 0
        """Steps that consumed such a gradient."""
        self._sent: list[list[TensorWeakRef]] = []
        """Parameters of the critic that each of the last such losses went to."""

    def install(self) -> None:
        """Patch the distributions of torch; those of a program ask these, or override none."""
        for cls in _subclasses(Distribution):
            if NAME in vars(cls):
                setattr(cls, NAME, _marking(vars(cls)[NAME]))

    def before_backward(self, roots: Iterable[Tensor]) -> None:
        """A loss goes backward."""
        self._sent = [sent for sent in self._sent if any(map(_has_gradient, sent))]
        for root in roots:
            if root.grad_fn is not None and self.consumed < ENOUGH:
                leaves = _of_the_critic(root.grad_fn)
                self._sent += [[TensorWeakRef(leaf) for leaf in leaves]] if leaves else []

    def at_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to consume what lies in ``.grad``."""
        if not self._sent:
            return
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        ready = [s for s in self._sent if any(id(leaf()) in held for leaf in s)]
        self.consumed += any(any(map(_has_gradient, sent)) for sent in ready)
        self._sent = [sent for sent in self._sent if sent not in ready]


def _marking(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def log_prob(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, Tensor) and result.grad_fn is not None:
            node: GraphNode = result.grad_fn
            node.metadata[MARK] = True
        return result

    return log_prob


def _of_the_critic(root: GraphNode) -> list[Tensor]:
    """Parameters to which a policy's loss goes through an advantage, and in no other way."""
    for product in _products(root):
        if _is_advantage(product.weight) and _comes_of_log_prob(product.log_prob):
            policy = _leaves(product.log_prob)
            alone = [t for key, t in _leaves(product.weight).items() if key not in policy]
            if alone:
                return alone
    return []


def _products(root: GraphNode) -> Iterator[_Product]:
    """Products of two things that carry gradient, of which a loss is made up; each both ways."""
    for node in _through(root, OF_A_LOSS):
        below = _below(node)
        if _kind(node) in PRODUCTS and len(below) == 2 and below[0] is not below[1]:
            yield _Product(*below)
            yield _Product(below[1], below[0])


def _through(root: GraphNode, kinds: re.Pattern[str]) -> Iterator[GraphNode]:
    """A node and what it was made of, down to and with the first nodes of other kinds."""
    seen, waiting = {root}, [root]
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop()
        yield node
        if kinds.fullmatch(_kind(node)):
            new = [child for child in _below(node) if child not in seen]
            seen.update(new)
            waiting += new


def _comes_of_log_prob(root: GraphNode) -> bool:
    """Whether it is a log-probability of what was drawn, or a ratio of such, be it clipped."""
    return any(_is_log_prob(node) for node in _through(root, OF_A_RATIO))


def _is_log_prob(node: GraphNode) -> bool:
    if MARK in node.metadata:
        return True
    passed = set[str]()
    for _ in range(DEEP):
        kind, below = _kind(node), _below(node)
        if kind in ("LogSoftmax", "Softmax"):
            return bool(passed.intersection(PICKS)) and (kind == "LogSoftmax" or "Log" in passed)
        if len(below) != 1 or not PLAIN.fullmatch(kind):
            return False
        passed.add(kind)
        node = below[0]
    return False


def _is_advantage(root: GraphNode) -> bool:
    """Whether a number without a gradient stands against values of a layer: ``returns - values``, be
    it normalised or added up over time.
    """
    constants, values = set[bool](), set[bool]()
    seen, waiting = {(root, True)}, [(root, True)]
    while waiting and len(seen) < MOST_NODES:
        node, positive = waiting.pop()
        kind = _kind(node)
        if VALUES.fullmatch(kind):
            values.add(positive)
        if not LINEAR.fullmatch(kind):
            continue
        terms = _terms(node, kind)
        constants |= {positive is sign for child, sign in terms if child is None}
        new = {(c, positive is sign) for c, sign in terms if c is not None} - seen
        seen |= new
        waiting += new
    return any((not sign) in values for sign in constants)


def _terms(node: GraphNode, kind: str) -> list[tuple[GraphNode | None, bool]]:
    """What a node adds up, each with whether it counts as it is or negative. A number that a term is
    multiplied with is no term; ``x - x.mean()`` is ``x``, and ``x / x.std()`` as well.
    """
    children = [child for child, _ in node.next_functions]
    below = [child for child in children if child is not None]
    if kind == "Add":
        return [(child, True) for child in children]
    if kind in ("Sub", "Rsub"):
        first, second = children if len(children) == 2 else (children[0], None)
        if kind == "Rsub":
            first, second = second, first
        centred = first is not None and second is not None and _kind(second) == "Mean"
        return [(first, True)] if centred else [(first, True), (second, False)]
    if kind == "Mul":
        return [(below[0], True)] if len(below) == 1 else []
    if kind == "Div":
        return [(children[0], True)] if children[0] is not None else []
    return [(child, kind != "Neg") for child in below]


def _leaves(root: GraphNode) -> dict[int, Tensor]:
    """Leaves that a node was made of, by their ids."""
    found: dict[int, Tensor] = {}
    for node in _through(root, re.compile(r".*")):
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, Tensor):
            found[id(leaf)] = leaf
    return found


def _below(node: GraphNode) -> list[GraphNode]:
    return [child for child, _ in node.next_functions if child is not None]


def _kind(node: GraphNode) -> str:
    """``Mul`` of ``MulBackward0``."""
    return re.sub(r"Backward\w*$|(?<=.)Backwards$", "", type(node).__name__)


def _has_gradient(leaf: TensorWeakRef) -> bool:
    tensor = leaf()
    return tensor is not None and tensor.grad is not None and bool(dense(tensor.grad).any())


def _subclasses(cls: type[Distribution]) -> Iterator[type[Distribution]]:
    for below in cls.__subclasses__():
        yield below
        yield from _subclasses(below)
