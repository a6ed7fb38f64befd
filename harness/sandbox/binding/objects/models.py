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

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.definitions import Instance
from harness.sandbox.binding.flow.graph import Call
from harness.sandbox.binding.objects.targets import Targets
from harness.sandbox.binding.roles.results import OUTPUT, Paths, Result


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a program calls a model and reads its result."""

    result: Result = OUTPUT
    """The form of what calls return that want a loss, or of what any call returns if none wants one."""
    plain: bool = False
    """Whether every call has one positional argument and uses the result as a tensor."""
    unaided: bool = False
    """Whether calls that pass only inputs want a loss, so that targets have to be looked up."""
    also_outputs: bool = False
    """Whether other calls that pass only inputs want outputs, as in evaluation."""

    def looks_up(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, training: bool) -> bool:
        """Whether a call without targets is one that wants a loss."""
        others = [*args[1:], *(kwargs.values() if args else [])]
        by_sample = any(isinstance(other, list | tuple) for other in others)
        alone = self.unaided and (training or not self.also_outputs)
        return self.result.has_loss and (alone or by_sample)


def protocol(calls: Iterable[Call], paths: Paths) -> Protocol:
    """What the calls of a model have in common."""
    own = [call for call in calls if not (call.inner or _runs_another_forward(call))]
    results = [paths.result(call) for call in own]
    simple = [_takes_inputs_alone(call) for call in own]
    wanted = next((r for r in results if r.has_loss), None)
    kept = wanted or next((r for r in results if r.whole != "output"), OUTPUT)
    alone = [r for r, inputs in zip(results, simple, strict=True) if inputs]
    return Protocol(
        kept,
        plain=kept.whole == "output" and all(_is_plain(call) for call in own),
        unaided=any(result.has_loss for result in alone),
        also_outputs=any(result.whole == "output" for result in alone),
    )


def _runs_another_forward(call: Call) -> bool:
    """Whether it is a model of the program's own that is called, under the name of the one it holds.

    What ``model = WithLoss(model, criterion)`` gives is no affair of the model inside. A ``forward``
    that takes whatever comes hands it on.
    """
    held = (t.cls for t in call.callee.targets if isinstance(t, Instance) and t.cls.module)
    forwards = [forward for cls in held if (forward := cls.method("forward")) is not None]
    return any(all(p.kind != "star" for p in forward.parameters) for forward in forwards)


def _is_plain(call: Call) -> bool:
    whole = any(argument.uses & WHOLE for argument in call.args)
    return len(call.args) == 1 and not (call.keywords or call.spread or whole)


def _takes_inputs_alone(call: Call) -> bool:
    """Whether nothing that it is given can be a target of its own."""
    others = (*call.args[1:], *call.keywords.values())
    return not call.spread and all("data" not in o.tags or "constant" in o.tags for o in others)


WHOLE = frozenset({".items", ".keys", ".values", "item:str", "iter"})
"""Uses of an argument of a model that is no single tensor."""

ADAPTED = "_adapted_from"
"""Attribute in which an adapted class keeps the original one."""


class Fields(dict[str, Any]):
    """A result as models of libraries return it: read by attribute, key or position."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, key: Any) -> Any:
        return (
            list(self.values())[key] if isinstance(key, int | slice) else super().__getitem__(key)
        )


@dataclass(frozen=True, slots=True)
class Answering:
    """How an adapted model computes what the program asks for."""

    wanted: Protocol
    """The form of its results."""
    criterion: Callable[..., Tensor]
    """The loss that it computes."""
    targets: Targets
    """Targets to use where a call passes none."""

    def to(
        self, model: nn.Module, forward: Callable[[Any], Any], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """The result for these arguments. ``forward``: computes outputs from inputs."""
        first = input_name(model)
        inputs, target = _sorted(first, *_inputs_first(self.targets, args, kwargs))
        output, loss = forward(inputs), None
        if self.wanted.result.asks:
            if target is None and self.wanted.looks_up(args, kwargs, training=model.training):
                target = self.targets.of(inputs)
            loss = self.criterion(output, target) if target is not None else None
        return given(self.wanted.result, output, loss, next(iter(args[1:]), None))


def adapt(model: nn.Module, answering: Answering) -> None:
    """Change the class of ``model`` so that it accepts what the program passes and returns what it
    reads.
    """
    if answering.wanted.plain:
        return
    base: Any = getattr(type(model), ADAPTED, type(model))  # several names may stand for it

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return answering.to(self, lambda inputs: base.__call__(self, inputs), args, kwargs)

    body = {
        "__call__": call,
        ADAPTED: base,
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
    }
    setattr(model, "__class__", type(base.__name__, (base,), body))  # noqa: B010 - mypy refuses otherwise


def given(result: Result, output: Any, loss: Tensor | None, state: Any = None) -> Any:
    """A result in the form that a program takes apart. Without ``loss``: what a call without
    targets returns.
    """
    if loss is None and result.has_loss and result.whole != "fields":
        return output
    share = None if loss is None else loss / result.losses
    figure = None if loss is None else loss.detach()
    kinds = {
        "loss": share, "loss?": loss, "output": output, "state": state, "figure": figure,
        "figures": {} if figure is None else {"loss": figure}, "nothing": None,
    }  # fmt: skip
    named = {name: kinds[kind] for name, kind in result.fields}
    match result.whole:
        case "loss":
            return loss
        case "losses":
            return named or {"loss": loss}
        case "row":
            return tuple(kinds[kind] for kind in result.row)
        case "fields":
            known = {"loss": loss, "logits": output, "last_hidden_state": output} | named
            return Fields({name: value for name, value in known.items() if value is not None})
    return output


def answers_by(model: nn.Module, name: str, answering: Answering) -> None:
    """Give ``model`` a method that computes what its forward does, without going through
    ``__call__``.
    """

    def method(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return answering.to(self, self.forward, args, kwargs)

    # a method and no closure: a copy of the model has it bound to the copy
    object.__setattr__(model, name, MethodType(method, model))


def input_name(model: nn.Module) -> str:
    """Name of the first parameter of ``forward``."""
    return next(iter(inspect.signature(model.forward).parameters), "input")


def _inputs_first(
    targets: Targets, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the inputs in the place of a whole batch."""
    if args:
        return (targets.inputs_in(args[0]), *args[1:]), kwargs
    return args, {name: targets.inputs_in(value) for name, value in kwargs.items()}


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
    """Hide what runs inside from probes that watch all modules."""
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
    """Shape of the model's output for these inputs, ``None`` if it has none. Changes no state."""
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
