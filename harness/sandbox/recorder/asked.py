"""What torch was asked, in order, and its answers: a graph that can be computed once more."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from harness.sandbox.recorder.tape import tensors_in

MOST = 20_000
"""How many calls between two backwards are noted."""

_data: Any = Tensor.data  # what reads ``h.data``
CUTTING = frozenset({torch.detach, Tensor.detach, torch.detach_, Tensor.detach_, _data.__get__})
"""Functions whose result is cut off from what it was computed of."""


@dataclass(slots=True)
class Asked:
    """One call of a function of torch. It keeps its tensors alive, or their identities meant nothing."""

    func: Callable[..., Any]
    """The function."""
    args: tuple[Any, ...]
    """Its arguments."""
    kwargs: dict[str, Any]
    """Its keyword arguments."""
    dice: Tensor | None
    """State of the random numbers before it; ``None`` where it drew none."""
    autocast: torch.dtype | None
    """Element type of autocast, where that was on."""
    result: Any = None
    """What it returned."""

    @classmethod
    def of(cls, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Self:
        """A call that is about to be made."""
        on = torch.is_autocast_enabled("cpu")
        dtype = torch.get_autocast_dtype("cpu") if on else None
        return cls(func, args, kwargs, torch.get_rng_state(), dtype)

    def answered(self, result: Any) -> None:
        """It returned."""
        self.result = result
        if self.dice is not None and torch.equal(self.dice, torch.get_rng_state()):
            self.dice = None

    def tensors(self) -> Iterator[Tensor]:
        """Those among its arguments."""
        yield from tensors_in(self.args)
        yield from tensors_in(self.kwargs)

    def results(self) -> Iterator[Tensor]:
        """Those that it returned, or wrote into."""
        yield from tensors_in(self.result)
        if self.func is Tensor.__setitem__:
            yield self.args[0]


class Graph:
    """Which call is needed for which tensor."""

    def __init__(self, calls: Sequence[Asked]) -> None:
        """``calls``: in the order in which they were made."""
        self._calls = calls

    def _for(self, tensors: Iterable[Tensor]) -> list[Asked]:
        """The calls that these were computed by, in order."""
        wanted, found = {id(t) for t in tensors}, list[Asked]()
        for call in reversed(self._calls):
            if any(id(t) in wanted for t in call.results()):
                found.append(call)
                wanted |= {id(t) for t in call.tensors()}
        return found[::-1]

    def above(self, tensors: Sequence[Tensor]) -> set[int]:
        """Identities of these and of everything that they were computed of."""
        found = {id(t) for t in tensors}
        for call in self._for(tensors):
            found |= {id(t) for t in (*call.tensors(), *call.results())}
        return found

    def leading_to(
        self, tensors: Sequence[Tensor], places: Mapping[int, int]
    ) -> dict[int, set[int]]:
        """For everything that these were computed of, by identity, which of some places were computed of
        it: two of them at most, since a place of its own is no other.
        """
        found: dict[int, set[int]] = {}
        for call in reversed(self._for(tensors)):
            ahead = set[int]()
            for result in call.results():
                own = {places[id(result)]} if id(result) in places else set[int]()
                ahead |= own | found.get(id(result), set())
            for given in call.tensors():
                together = found.get(id(given), set()) | ahead
                found[id(given)] = set(sorted(together)[:2])
        return found

    def constants(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """What entered from outside and asks for no gradient."""
        calls = self._for(tensors)
        made = {id(t) for call in calls for t in call.results()}
        entered = {id(t): t for call in calls for t in call.tensors() if id(t) not in made}
        return [t for t in entered.values() if not t.requires_grad]

    def leaves(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """What these were computed of and asks for gradients, computed of nothing itself."""
        given = (t for call in self._for(tensors) for t in call.tensors())
        return [t for t in given if t.requires_grad and t.is_leaf]

    def gradients(
        self, roots: Sequence[Tensor], parameters: Sequence[nn.Parameter], seed: Tensor | None
    ) -> dict[nn.Parameter, Tensor] | None:
        """What a backward from these has to leave in each parameter; ``None`` where nothing tells."""
        leaves = {id(p): p.detach().clone().requires_grad_() for p in parameters}
        with contextlib.suppress(Exception), torch.random.fork_rng(devices=[]), torch.enable_grad():
            again = self._again(roots, leaves)
            if any(id(root) not in again for root in roots) or len(roots) != 1:
                return None
            found = torch.autograd.grad(
                again[id(roots[0])],
                [*leaves.values()],
                seed,
                allow_unused=True,
                materialize_grads=True,
            )
            return dict(zip(parameters, found, strict=True))
        return None

    def _again(self, roots: Sequence[Tensor], leaves: dict[int, Tensor]) -> dict[int, Tensor]:
        values = dict(leaves)

        def now(value: Any) -> Any:
            if isinstance(value, Tensor):
                return values.get(id(value), value.detach())
            if type(value) in (list, tuple):
                return type(value)(now(part) for part in value)
            return {k: now(v) for k, v in value.items()} if type(value) is dict else value

        for call in self._for(roots):
            result = _made(call, now(call.args), now(call.kwargs))
            values |= {
                id(was): new
                for was, new in zip(tensors_in(call.result), tensors_in(result), strict=True)
            }
        return values


def _made(call: Asked, args: Any, kwargs: Any) -> Any:
    """The result of a call on other values: as it was under its autocast, with the same dice."""
    if call.func in CUTTING:
        return args[0]
    if call.dice is not None:
        torch.set_rng_state(call.dice)
    reduced = (
        torch.autocast("cpu", call.autocast)
        if call.autocast is not None
        else contextlib.nullcontext()
    )
    with reduced:
        return call.func(*args, **kwargs)
