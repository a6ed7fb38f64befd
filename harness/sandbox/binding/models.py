"""The workload's model as a program expects it: called by keyword, returning ``.logits`` or a loss."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_internals

from harness.sandbox.binding import hints
from harness.sandbox.binding.graph import Call, Node


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a program calls a model and reads its result."""

    plain: bool
    """One positional argument in, a tensor out."""
    attributes: bool
    """The result has ``.logits`` or ``.loss``, or items of these names."""
    pair: bool
    """The result is ``(logits, loss)``."""
    only_loss: bool
    """The result is the loss itself."""
    state: bool = False
    """The result is ``(output, state)``, the state being what was given second."""
    loss_first: bool = False
    """The pair is ``(loss, logits)``."""


def protocol(calls: Iterable[Call]) -> Protocol:
    """What the calls of a model have in common."""
    plain, attributes, pair, only_loss, state = True, False, False, False, False
    loss_first = False
    for call in calls:
        if call.inner:
            continue
        if len(call.args) != 1 or call.keywords or call.spread:
            plain = False
        result = call.result
        taken = any(
            isinstance(key, int) and part.uses & {"to_loss", "divides"}
            for key, part in result.items().items()
        )
        if (
            (call.spread and taken)
            or result.uses & {".logits", ".loss", ".last_hidden_state"}
            or {"loss", "logits"} & set(result.items())
        ):
            attributes = True
        elif "unpack:2" in result.uses:
            second = result.items().get(1)
            given_back = second is not None and second.uses & {"model_extra", "model_arg"}
            state, pair = state or bool(given_back), pair or not given_back
            first = result.items().get(0)
            loss_first = loss_first or (first is not None and _is_a_loss(first))
        elif len(call.args) + len(call.keywords) > 1 and _is_a_loss(result):
            only_loss = True
    plain = plain and not (attributes or pair or only_loss or state)
    return Protocol(plain, attributes, pair, only_loss, state, loss_first)


def _is_a_loss(node: Node) -> bool:
    return "to_loss" in node.uses and "loss_output" not in node.uses


ADAPTED = "_adapted_from"
"""Where an adapted class keeps what it was."""


class Result(dict[str, Any]):
    """What models of libraries return: read as attribute, by name or by position."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, key: Any) -> Any:
        return (
            list(self.values())[key] if isinstance(key, int | slice) else super().__getitem__(key)
        )


def adapt(model: nn.Module, wanted: Protocol, criterion: Callable[..., Tensor]) -> None:
    """Give ``model`` a class that takes and returns what the program passes and reads."""
    if wanted.plain:
        return
    base: Any = getattr(type(model), ADAPTED, type(model))  # several names may stand for it
    first = input_name(model)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        inputs, target = _sorted(first, args, kwargs)
        output = base.__call__(self, inputs)
        wants_loss = wanted.attributes or wanted.pair or wanted.only_loss
        loss = criterion(output, target) if wants_loss and target is not None else None
        if wanted.attributes:
            pairs = {"loss": loss, "logits": output, "last_hidden_state": output}
            return Result({k: v for k, v in pairs.items() if v is not None})
        if wanted.state:
            return output, next(iter(args[1:]), None)
        if wanted.pair:
            return (loss, output) if wanted.loss_first else (output, loss)
        return loss if wanted.only_loss and loss is not None else output

    body = {
        "__call__": call,
        ADAPTED: base,
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
    }
    setattr(model, "__class__", type(base.__name__, (base,), body))  # noqa: B010 - mypy refuses otherwise


def predicts_by(model: nn.Module, name: str) -> None:
    """Give ``model`` a method of its own that computes what its forward does, past ``__call__``."""

    def method(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return self.forward(_sorted(input_name(self), args, kwargs)[0])

    # a method and no closure: a copy of the model has it bound to the copy
    object.__setattr__(model, name, MethodType(method, model))


def input_name(model: nn.Module) -> str:
    """Name of the first argument of ``forward``."""
    return next(iter(inspect.signature(model.forward).parameters), "input")


def _sorted(first: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    target = next((v for k, v in kwargs.items() if hints.suggests(k, "target")), None)
    if args:
        rest = [a for a in args[1:] if isinstance(a, Tensor)]
        return args[0], target if target is not None or not rest else rest[0]
    if first in kwargs:
        return kwargs[first], target
    others = {k: v for k, v in kwargs.items() if v is not target and isinstance(v, Tensor)}
    named = [v for k, v in others.items() if not hints.suggests(k, "mask")]
    rest = named or [*others.values()]
    return rest[0] if rest else None, target


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Whatever runs inside, no probe that watches all modules sees it."""
    watching = (module_internals._global_forward_pre_hooks, module_internals._global_forward_hooks)
    kept = [dict(hooks) for hooks in watching]
    for hooks in watching:
        hooks.clear()
    try:
        yield
    finally:
        for hooks, was in zip(watching, kept, strict=True):
            hooks.update(was)


def shape_of(model: nn.Module, inputs: Tensor) -> tuple[int, ...] | None:
    """Shape of what the model gives for these inputs, ``None`` for nothing. Leaves all state alone."""
    training = {module: module.training for module in model.modules()}
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        with unseen(), torch.random.fork_rng(devices=[]), torch.no_grad():
            output = model.eval().forward(inputs.clone())
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for module, mode in training.items():
            module.training = mode
    return None if output is None else tuple(getattr(output, "shape", ()))


def misfit(model: nn.Module, inputs: Tensor, wanted: tuple[int, ...] | None) -> str | None:
    """Why a model cannot be trained on these inputs; ``None`` if it can."""
    try:
        given = shape_of(model, inputs)
    except Exception as error:  # noqa: BLE001 - whatever a posted forward raises is the answer
        return f"{type(error).__name__}: {error}".splitlines()[0][:200]
    if given is None:
        return "its forward returns nothing"
    return f"it gives {given} where {wanted} is wanted" if given and given != wanted else None
