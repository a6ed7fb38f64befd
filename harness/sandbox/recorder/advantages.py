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

from harness.sandbox.recorder.nodes import (
    LINEAR,
    MOST_NODES,
    GraphNode,
    inputs_of,
    kind_of,
    leaves_of,
    terms_of,
    through,
)
from harness.sandbox.recorder.sent import Sent

MARKED = ("log_prob", "entropy")
"""Methods of distributions whose names are keys in the metadata of the node that they return, with the
distribution's identity: these live as long as the node, and keep nothing alive.
"""

ENOUGH = 3
"""After so many steps no further loss is looked at."""

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
        self._sent = Sent()
        self.acts = False
        """Whether a log-probability was asked for: who acts may cut states off between two acts."""

    def install(self) -> None:
        """Patch the distributions of torch; those of a program ask these, or override none."""
        for cls in _subclasses(Distribution):
            for name in vars(cls).keys() & {*MARKED}:
                setattr(cls, name, self._marking(name, vars(cls)[name]))

    def before_backward(self, roots: Iterable[Tensor]) -> None:
        """A loss goes backward."""
        self._sent.forget_cleared()
        for root in roots:
            if root.grad_fn is not None and self.consumed < ENOUGH:
                self._sent.to(_of_the_critic(root.grad_fn))

    def at_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to consume what lies in ``.grad``."""
        self.consumed += self._sent.consumed_by(optimizer)

    def _marking(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def marked(of: Distribution, *args: Any, **kwargs: Any) -> Any:
            self.acts = self.acts or name == "log_prob"
            result = function(of, *args, **kwargs)
            if isinstance(result, Tensor) and result.grad_fn is not None:
                node: GraphNode = result.grad_fn
                node.metadata[name] = id(of)
            return result

        return marked


def _of_the_critic(root: GraphNode) -> list[Tensor]:
    """Parameters to which a policy's loss goes through an advantage, and in no other way."""
    for product in _products(root):
        if _is_advantage(product.weight) and _comes_of_log_prob(product.log_prob):
            policy = leaves_of(product.log_prob)
            alone = [t for key, t in leaves_of(product.weight).items() if key not in policy]
            if alone:
                return alone
    return []


def _products(root: GraphNode) -> Iterator[_Product]:
    """Products of two things that carry gradient, of which a loss is made up; each both ways."""
    for node in through(root, OF_A_LOSS):
        factors = inputs_of(node)
        if kind_of(node) in PRODUCTS and len(factors) == 2 and factors[0] is not factors[1]:
            yield _Product(*factors)
            yield _Product(factors[1], factors[0])


def _comes_of_log_prob(root: GraphNode) -> bool:
    """Whether it is a log-probability of what was drawn, or a ratio of such, be it clipped."""
    return any(_is_log_prob(node) for node in through(root, OF_A_RATIO))


def _is_log_prob(node: GraphNode) -> bool:
    if "log_prob" in node.metadata:
        return True
    passed = set[str]()
    for _ in range(DEEP):
        kind, made_of = kind_of(node), inputs_of(node)
        if kind in ("LogSoftmax", "Softmax"):
            return bool(passed.intersection(PICKS)) and (kind == "LogSoftmax" or "Log" in passed)
        if len(made_of) != 1 or not PLAIN.fullmatch(kind):
            return False
        passed.add(kind)
        node = made_of[0]
    return False


def _is_advantage(root: GraphNode) -> bool:
    """Whether a number without a gradient stands against values of a layer: ``returns - values``, be
    it normalised or added up over time.
    """
    constants, values = set[bool](), set[bool]()
    seen, waiting = {(root, True)}, [(root, True)]
    while waiting and len(seen) < MOST_NODES:
        node, positive = waiting.pop()
        kind = kind_of(node)
        if VALUES.fullmatch(kind):
            values.add(positive)
        if not LINEAR.fullmatch(kind):
            continue
        terms = terms_of(node, kind)
        constants |= {positive is sign for child, sign in terms if child is None}
        new = {(c, positive is sign) for c, sign in terms if c is not None} - seen
        seen |= new
        waiting += new
    return any((not sign) in values for sign in constants)


def _subclasses(cls: type[Distribution]) -> Iterator[type[Distribution]]:
    for below in cls.__subclasses__():
        yield below
        yield from _subclasses(below)
