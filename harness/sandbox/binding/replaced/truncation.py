"""Backpropagation through time that is cut off on purpose: a recurrent state, detached in forward.

Differences of outputs see what went in before the cut as well, and gradients do not. Where the
detached values are held, both speak of the same function. A cut is on purpose where what produced
the state acts on it again: ``h = cell(x, h.detach())``. Elsewhere a detached value loses a gradient
that nobody meant to lose.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

ASKED = 32
"""How many cuts are looked at, spread evenly over a sequence."""

Run = Callable[[], Tensor]


def held(run: Run) -> Run | None:
    """The same outputs with every detached value as it is now, whatever is changed later; ``None``
    where a value is detached that is no recurrent state, or none is.
    """
    watched = _Cuts()
    with watched, torch.enable_grad():
        output = run()
    cut = [(before, leaf) for before, leaf in watched.cut if before.grad_fn is not None]
    ends = [output.grad_fn, *(before.grad_fn for before, _ in cut)]
    above = _above(ends)
    asked = cut[:: max(1, len(cut) // ASKED)]
    if not cut or not all(_recurs(before, leaf, above) for before, leaf in asked):
        return None
    values = [leaf.detach() for _, leaf in watched.cut]

    def held_run() -> Tensor:
        with _Cuts(values):
            return run()

    return held_run


class _Cuts(TorchFunctionMode):
    """What is detached, in order: noted with a leaf in its place, or replaced by held values."""

    def __init__(self, values: list[Tensor] | None = None) -> None:
        super().__init__()
        self._values = None if values is None else iter(values)
        self.cut: list[tuple[Tensor, Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in (torch.detach, Tensor.detach):
            return func(*args, **(kwargs or {}))
        if self._values is not None:
            return next(self._values, args[0].detach())
        leaf = args[0].detach().requires_grad_(args[0].is_floating_point())
        self.cut.append((args[0], leaf))
        return leaf


def _recurs(before: Tensor, leaf: Tensor, above: dict[Any, list[Any]]) -> bool:
    """Whether a parameter that helped to compute the value acts on it after the cut."""
    upstream = {id(variable) for variable in leaves(before.grad_fn)}
    return bool(upstream & {id(variable) for variable in _acting_on(leaf, above)})


def _acting_on(leaf: Tensor, above: dict[Any, list[Any]]) -> Iterator[Tensor]:
    """Leaves that meet the value, or what came of it, by themselves: weights, not other branches."""
    own = [node for node in above if getattr(node, "variable", None) is leaf]
    touched = {*_from(own, lambda node: above.get(node, []))}
    for node in touched:
        for part, _ in node.next_functions:
            if part not in touched and (variable := _alone(part)) is not None:
                yield variable


def _alone(node: Any) -> Tensor | None:
    """The leaf that a node is a mere view of."""
    while node is not None:
        if isinstance(variable := getattr(node, "variable", None), Tensor):
            return variable
        before = [following for following, _ in node.next_functions if following is not None]
        node = before[0] if len(before) == 1 else None
    return None


def leaves(node: Any) -> Iterator[Tensor]:
    """What a node of a graph is computed of and asks for gradients."""
    for each in _nodes(node):
        if isinstance(variable := getattr(each, "variable", None), Tensor):
            yield variable


def _above(ends: list[Any]) -> dict[Any, list[Any]]:
    """Each node of a graph with those that were computed of it."""
    found: dict[Any, list[Any]] = {}
    for node in _nodes(*ends):
        for following, _ in node.next_functions:
            found.setdefault(following, []).append(node)
    return found


def _nodes(*ends: Any) -> Iterator[Any]:
    yield from _from(ends, lambda node: [following for following, _ in node.next_functions])


def _from(ends: Iterable[Any], following: Callable[[Any], list[Any]]) -> Iterator[Any]:
    waiting, seen = [*ends], set[Any]()
    while waiting:
        if (each := waiting.pop()) in seen or each is None:
            continue
        seen.add(each)
        yield each
        waiting += following(each)
