"""What torch's own loss functions returned, before the program made anything else of it."""

import functools
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import Any, ParamSpec, TypeGuard

import torch
from torch import Tensor, nn

from harness.sandbox.recorder.nodes import GraphNode, leaves_of
from harness.sandbox.recorder.transforms import outside, unwrapped

P = ParamSpec("P")

MEANS = (
    "mse_loss", "cross_entropy", "nll_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits",
)  # fmt: skip
"""Functions whose default is a mean; modules such as ``MSELoss`` go through them."""

BY_CLASS = ("cross_entropy", "nll_loss")
"""Those whose targets may name rows that do not count."""

FEW = 32
"""Numbers in a row up to which a sum over them may be meant, as over the 4 of a box: so many could be
the micro-batches of a window as well.
"""


ALIKE = 1e-4
"""How far apart gradients may be, relative to the largest, that are one and the same."""

TAKES_OTHERS = {
    "cross_entropy": "SoftmaxBackward0",
    "nll_loss": "SoftmaxBackward0",
    "kl_div": "SoftmaxBackward0",
    "binary_cross_entropy_with_logits": "SigmoidBackward0",
}
"""Losses, and the node of a graph whose result none of them takes as its first argument."""

WHAT = {
    "SoftmaxBackward0": "what softmax returned",
    "SigmoidBackward0": "what sigmoid returned",
}
"""In words."""

SQUASHING = frozenset({"SoftmaxBackward0", "LogSoftmaxBackward0", "SigmoidBackward0"})
"""Nodes that make soft targets."""

ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
"""Losses of two arguments of one shape."""

DEEP = 4
"""How many such nodes are looked through."""

BOOTSTRAPPED = "a bootstrapped target of values that the same network returned, with their graph"
"""A target that moves towards what it is compared with."""

SHAPING = re.compile(
    r"(Unsafe)?View|ReshapeAlias|Squeeze|Unsqueeze|Transpose|Permute|T(Backward|$)|Clone"
)
"""Nodes that change a shape and no number."""

AVERAGING = re.compile(rf"Mean|Sum|Div|Mul|{SHAPING.pattern}")
"""Nodes of means, of weights and of shapes, where they have a gradient for one thing."""


class Losses:
    """Remembers means that can carry gradient until a backward takes them, and what gradient arrived at
    losses. A sum stands for the mean of what it adds up, and losses one by one for their mean.
    """

    def __init__(self) -> None:
        """Nothing was returned yet."""
        self._returned: list[tuple[str, float]] = []
        self._arrived: list[float] = []
        self._weighed: list[tuple[float, int]] = []
        self.shapes_are_its_own = False
        """Whether the program brings its data: what is lent may have other shapes than its reader's."""
        self.targets: deque[GraphNode] | None = None
        """Where the nodes of soft targets go that carry gradient; ``None``: nobody asks."""
        self.misfed: dict[str, None] = {}
        """``cross_entropy of what softmax returned``: losses that were given what they do not take."""

    def install(self) -> None:
        """Patch torch; called once in a process that then runs one candidate."""
        for name in MEANS:
            setattr(nn.functional, name, self._recorded(getattr(nn.functional, name)))
        for name in (*TAKES_OTHERS, *ELEMENTWISE):
            setattr(nn.functional, name, self._looked_at(getattr(nn.functional, name)))

    def take(self) -> tuple[tuple[str, float], ...]:
        """The means since the last time, in order, each with the function that returned it."""
        taken, self._returned = tuple(self._returned), []
        return taken

    def take_gradient(self) -> float | None:
        """How often the mean of a loss counts, by the gradient that arrived at it since the last time;
        ``None`` where gradients arrived at several losses, or at none.
        """
        arrived, self._arrived = self._arrived, []
        return arrived[0] if len(arrived) == 1 else None

    def take_weights(self) -> tuple[tuple[float, int], ...]:
        """For each loss that a gradient arrived at since the last time, the gradient at each of its
        targets that counts, and how many these are. Without losses that weigh their targets otherwise.
        """
        taken, self._weighed = tuple(self._weighed), []
        return taken

    def look(self, roots: Iterable[Tensor]) -> None:
        """A backward begins at these: look at the squares that the program adds up by itself."""
        for root in roots:
            for difference in _squares(root.grad_fn):
                inner = [before for before, _ in difference.next_functions if before is not None]
                for target, given in permutations(inner, 2):
                    self._compare(target, given)

    def _compare(self, target: GraphNode, given: GraphNode) -> None:
        if _is_bootstrapped(target, given):
            self.misfed[BOOTSTRAPPED] = None

    def _arrive(self, gradient: Tensor, of: int) -> None:
        """Remember what a loss was multiplied by; for losses that are weighed one by one no number."""
        each = gradient[gradient != 0] if gradient.dim() else gradient.reshape(1)
        alike = not len(each) or float(each.max() - each.min()) <= ALIKE * float(each.abs().max())
        self._arrived.append(float(each.sum()) * of if alike else math.nan)

    def _weigh_later(self, result: Tensor, reduction: str, counted: Tensor | None) -> None:
        if counted is not None:
            share = 1 if reduction != "mean" else max(1, int(counted.sum()))
            result.register_hook(lambda g: self._weigh(g.detach() / share, counted))

    def _weigh(self, gradient: Tensor, counted: Tensor) -> None:
        """``counted``: which targets count. (...)"""
        number = int(counted.sum())
        each = gradient.reshape(-1)
        if gradient.dim():
            each = gradient[counted] if gradient.shape == counted.shape else each[:0]
            each = each[each != 0]  # a mask of the program's own
            number = len(each)
        if (
            number
            and len(each)
            and float(each.max() - each.min()) <= ALIKE * float(each.abs().max())
        ):
            self._weighed.append((float(each[0]), number))

    def _looked_at(self, function: Callable[P, Tensor]) -> Callable[P, Tensor]:
        name = function.__name__

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Tensor:
            given, target = (
                kwargs.get(n, args[i] if len(args) > i else None)
                for i, n in enumerate(("input", "target"))
            )
            if isinstance(given, Tensor) and given.requires_grad:
                if _is_soft(target) and self.targets is not None:
                    self.targets.append(target.grad_fn)
                squashing = TAKES_OTHERS.get(name)
                if squashing is None and isinstance(target, Tensor):
                    self._compare(target.grad_fn, given.grad_fn)
                if squashing is None and not self.shapes_are_its_own:
                    said = None
                elif squashing is None:
                    said = _crossed(given, target, kwargs.get("reduction"))
                else:
                    said = WHAT[squashing] if _made_by(given) == squashing else None
                if said is not None:
                    self.misfed[f"{name} of {said}"] = None
            return function(*args, **kwargs)

        return wrapper

    def _recorded(self, function: Callable[P, Tensor]) -> Callable[P, Tensor]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Tensor:
            result = function(*args, **kwargs)
            reduction = kwargs.get("reduction", "mean")
            if reduction in ("mean", "sum", "none") and result.requires_grad:
                plain = unwrapped([result]) or []
                with outside():
                    of = _added_up(function.__name__, result, args, kwargs)
                    # at once: the program may divide the result in place
                    values = (float(p.detach().mean()) / of for p in plain if of)
                    self._returned += [(function.__name__, value) for value in values]
                if of and plain and plain[0] is result:
                    result.register_hook(lambda g: self._arrive(g.detach(), of))
                if plain and plain[0] is result:
                    self._weigh_later(result, reduction, _counted(function.__name__, args, kwargs))
            return result

        return wrapper


def _added_up(name: str, result: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """How many losses each entry of the result adds up, a mean counting as one; 0 where that is not
    plain.
    """
    reduction = kwargs.get("reduction", "mean")
    if reduction != "sum":
        return 1 if reduction == "mean" or result.dim() == 1 else 0
    given = kwargs.get("target", args[1] if len(args) > 1 else None)
    plain = unwrapped([given]) if isinstance(given, Tensor) else None
    if not plain or kwargs.get("weight") is not None:
        return 0
    target = plain[0]
    if name not in BY_CLASS:
        in_a_row = target.numel() // max(1, len(target)) if target.dim() else 1
        return 0 if 1 < in_a_row <= FEW else int(target.numel())
    if target.is_floating_point():  # probabilities of classes
        return 0
    return int((target != kwargs.get("ignore_index", -100)).sum())


def _counted(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Which targets of a loss count; ``None`` where they are no classes, or have weights."""
    given = kwargs.get("target", args[1] if len(args) > 1 else None)
    plain = unwrapped([given]) if isinstance(given, Tensor) else None
    if not plain or name not in BY_CLASS or kwargs.get("weight") is not None:
        return None
    if len(args) > 2 or plain[0].is_floating_point():
        return None
    ignored: Any = kwargs.get("ignore_index", -100)
    return torch.ne(plain[0].detach(), ignored)


def _crossed(given: Tensor, target: object, reduction: object) -> str | None:
    """``(8, 1) beside (8,)``, where a mean or a sum is taken of what each makes with each; whoever means
    all pairs gives both as many dimensions.
    """
    if not isinstance(target, Tensor) or given.dim() == target.dim() or reduction == "none":
        return None
    try:
        sizes = torch.broadcast_shapes(given.shape, target.shape)
    except RuntimeError:  # the loss says so itself
        return None
    if math.prod(sizes) <= max(given.numel(), target.numel()):
        return None
    return f"{tuple(given.shape)} beside {tuple(target.shape)}"


def _is_soft(target: object) -> TypeGuard[Tensor]:
    """Whether a target is what a softmax or a sigmoid returned, with its graph."""
    return isinstance(target, Tensor) and target.requires_grad and _made_by(target) in SQUASHING


def _is_bootstrapped(target: GraphNode, given: GraphNode) -> bool:
    """Whether a target is a number and, times another, what came out of all that made the other
    argument: ``reward + gamma * q(next_state).max(1).values``.
    """
    if target is None:
        return False
    inner = _alone(_alone(target, "AddBackward0", "SubBackward0"), "MulBackward0")
    made_of = set() if inner is None else leaves_of(given).keys()
    return bool(made_of) and made_of <= leaves_of(inner, without=[given]).keys()


def _squares(node: GraphNode, deep: int = 8) -> Iterator[GraphNode]:
    """The differences whose squares a loss adds up: ``(target - v).pow(2).mean() + ...``."""
    if node is None or not deep:
        return
    inner = [before for before, _ in node.next_functions if before is not None]
    weighs = len(inner) == 1 and AVERAGING.match(node.name())
    if weighs or node.name() in ("AddBackward0", "SubBackward0"):
        for term in inner:
            yield from _squares(term, deep - 1)
    elif node.name() in ("PowBackward0", "MulBackward0") and len({*inner}) == 1:
        difference = _behind(inner[0], SHAPING)
        if difference is not None and difference.name() in ("SubBackward0", "AddBackward0"):
            yield difference


def _alone(node: GraphNode, *kinds: str) -> GraphNode:
    """What such a node has a gradient for, if it is one thing; ``None`` for other nodes."""
    node = None if node is None else _behind(node, SHAPING)
    if node is None or node.name() not in kinds:
        return None
    inner = [before for before, _ in node.next_functions if before is not None]
    return inner[0] if len(inner) == 1 else None


def _behind(node: GraphNode, *kinds: re.Pattern[str] | str) -> GraphNode:
    """The first node that is of none of these kinds, or has a gradient for several things."""
    for _ in range(2 * DEEP):
        if node is None or not any(re.match(kind, node.name()) for kind in kinds):
            break
        inner = [before for before, _ in node.next_functions if before is not None]
        node = inner[0] if len(inner) == 1 else None
    return node


def _made_by(value: Tensor) -> str:
    """The node that made the numbers of a tensor, whatever changed their shape since."""
    node: Any = value.grad_fn
    for _ in range(DEEP):
        if node is None or SHAPING.match(node.name()) is None:
            break
        node = next((before for before, _ in node.next_functions if before is not None), None)
    return "" if node is None else str(node.name())
