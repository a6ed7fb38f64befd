"""Backpropagation through time that is cut off on purpose: a recurrent state, detached in forward.

Differences of outputs see what went in before the cut as well, and gradients do not. Where the
detached values are held, both speak of the same function. A cut is on purpose where what produced
the state acts on it again, ``h = cell(x, h.detach())``, after some steps through which gradient
flows. Elsewhere, and where every step is cut off, a detached value loses a gradient that nobody meant
to lose.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

ASKED = 32
"""How many cuts are looked at, spread evenly over a sequence."""

_data: Any = Tensor.data  # what reads ``h.data``
CUTTING = frozenset({torch.detach, Tensor.detach, torch.detach_, Tensor.detach_, _data.__get__})
"""Functions of torch whose result is cut off from what it was computed of."""

Run = Callable[[], Tensor]


def held(run: Run, many_steps: Iterable[Tensor] = ()) -> Run | None:
    """The same outputs with every detached value as it is now, whatever is changed later; ``None``
    where a value is detached that is no recurrent state, or every one is, or none is.

    ``many_steps``: weights that go through many steps in one call, as those of ``nn.GRU``.
    """
    watched = _Cuts()
    with watched, torch.enable_grad():
        output = run()
    cut = [(graph, leaf) for graph, leaf in watched.cut if graph is not None]
    above = _above([output.grad_fn, *(graph for graph, _ in cut)])
    asked = cut[:: max(1, len(cut) // ASKED)]
    if not cut or not all(_recurs(graph, leaf, above) for graph, leaf in asked):
        return None
    if _nothing_through_time(asked, above, {id(weight) for weight in many_steps}):
        return None
    values = [None if graph is None else leaf.detach().clone() for graph, leaf in watched.cut]

    def held_run() -> Tensor:
        with _Cuts(values):
            return run()

    return held_run


class _Cuts(TorchFunctionMode):
    """What is detached, in order: noted with a leaf in its place, or replaced by held values.

    A parameter that is detached is no state: it is left alone.
    """

    def __init__(self, values: list[Tensor | None] | None = None) -> None:
        super().__init__()
        self._values = None if values is None else iter(values)
        self.cut: list[tuple[Any, Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in CUTTING:
            return func(*args, **(kwargs or {}))
        if self._values is not None:
            value, given = next(self._values, None), func(*args)
            if value is None:
                return given
            return given.copy_(value) if given is args[0] else value.clone()
        graph, given = args[0].grad_fn, func(*args)
        self.cut.append((graph, given))
        return given if graph is None else given.requires_grad_()


def _recurs(graph: Any, leaf: Tensor, above: dict[Any, list[Any]]) -> bool:
    """Whether a parameter that helped to compute the value acts on it after the cut."""
    return bool(_recurring(graph, leaf, above))


def _recurring(graph: Any, leaf: Tensor, above: dict[Any, list[Any]]) -> set[int]:
    """Which parameters helped to compute the value and act on it after the cut, by identity."""
    upstream = {id(variable) for variable in leaves(graph)}
    return upstream & {id(variable) for variable in _acting_on(leaf, above)}


def _nothing_through_time(
    cut: list[tuple[Any, Tensor]], above: dict[Any, list[Any]], many_steps: set[int]
) -> bool:
    """Whether some weight acts once only between any two cuts, so that no gradient goes through a
    step to the one before.
    """
    common = set.intersection(*(_recurring(graph, leaf, above) for graph, leaf in cut))
    uses = {
        id(node.variable): {*users}
        for node, users in above.items()
        if isinstance(getattr(node, "variable", None), Tensor)
    }
    pieces = [{*_nodes(graph)} for graph, _ in cut] + [_touched(leaf, above) for _, leaf in cut]
    once = (
        all(sum(_meets(use, piece, above) for use in uses[weight]) <= 1 for piece in pieces)
        for weight in common - many_steps
    )
    return len(cut) > 1 and any(once)


def _meets(use: Any, piece: set[Any], above: dict[Any, list[Any]]) -> bool:
    """Whether a use of a weight, or what it is a mere view for, belongs to a piece of the graph."""
    return use in piece or any(user in piece for user in above.get(use, []))


def _touched(leaf: Tensor, above: dict[Any, list[Any]]) -> set[Any]:
    """The value and what came of it, as far as gradient flows."""
    own = [node for node in above if getattr(node, "variable", None) is leaf]
    return {*_from(own, lambda node: above.get(node, []))}


def _acting_on(leaf: Tensor, above: dict[Any, list[Any]]) -> Iterator[Tensor]:
    """Leaves that meet the value, or what came of it, by themselves: weights, not other branches."""
    touched = _touched(leaf, above)
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
