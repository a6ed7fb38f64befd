"""Factors on gradients: where a backward starts, and at single forwards."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch._C import _functorch

from harness.domain.event import ByHand, Event, OptimizerStep, ScalerCall
from harness.domain.injection import Injection, OnePass

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class InjectedFactors:
    """Does what the probe's injection says; before one is given, nothing."""

    def __init__(self) -> None:
        """Nothing is injected yet."""
        self.injection = Injection()
        self.rank = 0
        self.at_next_root = 1.0
        """A further factor on the gradients from which the next backward starts."""
        self._window = 0
        self._passes = count()
        self._stepped = self._from_a_loss = False

    def saw(self, event: Event) -> None:
        """An event was written: a step ends a window."""
        scaler = isinstance(event, ScalerCall) and event.method == "step"
        self._stepped = self._stepped or scaler or isinstance(event, OptimizerStep | ByHand)

    # ----------------------------------------------------------------------------- backward

    def at_root(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Arguments, float]:
        """The arguments of ``torch.autograd.backward`` or ``grad``, with gradients to start from that
        hold the factor; and the factor.
        """
        further, self.at_next_root = self.at_next_root, 1.0
        if self.injection.factors == {1.0} and further == 1.0:
            return (args, kwargs), 1.0
        roots, given = _roots(name, args, kwargs)
        if self._stepped:
            self._window += 1
            self._stepped = self._from_a_loss = False
        if roots is None or not self._trains(name, roots, given, args, kwargs):
            return (args, kwargs), 1.0
        factor = self.injection.of_window(self._window)
        with torch._C.DisableTorchFunction():
            pairs = zip(roots, given, strict=True)
            seeds = tuple(_times(root, seed, factor * further) for root, seed in pairs)
        return _with_seeds(name, seeds, args, kwargs), factor

    def _trains(
        self,
        name: str,
        roots: list[Tensor],
        given: list[Tensor | None],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> bool:
        """Whether what comes of it is a gradient of parameters that holds no factor yet.

        What is differentiated again enters a loss, and so does the gradient of a tensor that is no
        parameter; a backward that starts inside of a model hands on what another one left there, and
        one within another (checkpoints) what that computed.
        """
        if torch._C._current_graph_task_id() != -1:
            return False
        if _functorch.peek_interpreter_stack() is not None:
            return _one_gradient()
        asked = inputs_in(args, kwargs)
        parameters = any(isinstance(t, nn.Parameter) for t in asked)
        if name == "grad" and (again(name, args, kwargs) or not parameters):
            return False
        inside = any(r.numel() != 1 and s is not None for r, s in zip(roots, given, strict=True))
        if inside and self._from_a_loss:
            return False
        self._from_a_loss = self._from_a_loss or not inside
        return True

    # ----------------------------------------------------------------------------- forward

    def next_pass(self) -> OnePass | None:
        """What happens to the forward that is next."""
        if not self.injection.passes:
            return None
        return self.injection.of_pass(next(self._passes), self.rank)


def at_output(one: OnePass, output: object) -> object:
    """What a model returned, changed as ``one`` says: copies, so that each is changed once, whichever of
    them was computed of another.
    """
    if isinstance(output, Tensor):
        return _changed(one, output) if _carries_gradient(output) else output
    if isinstance(output, Mapping):
        changed = {key: at_output(one, value) for key, value in output.items()}
        try:
            for key, value in changed.items():
                output[key] = value  # type: ignore[index]  # a dataclass of transformers is filled in place
        except TypeError:
            return changed
        return output
    if isinstance(output, tuple | list):
        parts = [at_output(one, part) for part in output]
        return output._make(parts) if hasattr(output, "_make") else type(output)(parts)
    return output


def _changed(one: OnePass, output: Tensor) -> Tensor:
    row = torch.ones(output.shape)
    (row[:1] if output.ndim else row).fill_(one.row_factor)
    changed = output * row.to(output.dtype)  # in half precision it may become infinite
    if one.times != 1.0:
        changed.register_hook(lambda gradient: gradient * one.times)
    return changed


def _carries_gradient(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.requires_grad


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, key: str) -> Any:
    """What a call is given, in its place or by its name."""
    return args[place] if len(args) > place else kwargs.get(key)


def seeds_in(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The gradients that ``backward`` or ``grad`` is told to start from."""
    return argument(args, kwargs, *_SEEDS[name])


def again(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether ``create_graph`` was asked for."""
    return bool(argument(args, kwargs, 4 if name == "grad" else 3, "create_graph"))


def inputs_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | list[Any]:
    """Of what ``grad`` is asked for the gradient."""
    inputs = argument(args, kwargs, 1, "inputs")
    return inputs if isinstance(inputs, tuple | list) else (inputs,)


def _roots(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Tensor] | None, list[Tensor | None]]:
    """What a backward starts from, and the gradients that were handed in; ``None`` where torch is given
    anything else.
    """
    asked = argument(args, kwargs, 0, "outputs" if name == "grad" else "tensors")
    roots = [asked] if isinstance(asked, Tensor) else asked
    seeds = seeds_in(name, args, kwargs)
    if not isinstance(roots, list | tuple) or not all(isinstance(r, Tensor) for r in roots):
        return None, []
    if seeds is None:
        return [*roots], [None] * len(roots)
    given = [seeds] if isinstance(seeds, Tensor) else seeds
    if not isinstance(given, list | tuple) or len(given) != len(roots):
        return None, []
    return [*roots], [*given]


_SEEDS = {"grad": (2, "grad_outputs"), "backward": (1, "grad_tensors")}
"""Where the gradients to start from stand among the arguments, and what they are called."""


def _times(root: Tensor, seed: Tensor | None, factor: float) -> Tensor | None:
    if seed is not None:
        return seed * factor
    if root.numel() != 1 or not root.is_floating_point():
        return None  # torch says itself what is wrong with it
    return torch.ones_like(root).detach() * factor


def _with_seeds(
    name: str, seeds: tuple[Tensor | None, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arguments:
    place, key = _SEEDS[name]
    if len(args) > place:
        return (*args[:place], seeds, *args[place + 1 :]), kwargs
    return args, {**kwargs, key: seeds}


def _one_gradient() -> bool:
    """Whether what is being transformed is a gradient, and no gradient of one."""
    levels = _functorch.get_interpreter_stack() or []
    return sum(level.key() == _functorch.TransformType.Grad for level in levels) == 1
