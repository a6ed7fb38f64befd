"""Whether a model's gradients are the derivatives of its outputs, and reach all parameters it trains.

Asked of a model of the program's own, whose gradients nobody can compute anew. The answer comes from
differences of its outputs, so no spelling matters.
"""

import contextlib
import functools
import io
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.graph import _engine_run_backward

from harness.sandbox.world.unseen import unseen

LARGEST = 2_000_000
"""Most parameters of a model that is examined."""
ASKED = 32
"""How many parameter tensors are examined, spread evenly over the model."""
ROWS = 6
"""Rows of a batch that are tried."""
NUDGE = 1e-6
SCALES = (1e-3, 1e3)
"""Sizes of the gradient at the output: code that cuts gradients off acts on large ones or on small
ones.
"""
CLOSE = 0.01

_ONCE = (False, False, ())  # no graph is kept or created, and all leaves are inputs


RunModel = Callable[[], Tensor]
"""Computes the outputs of a model."""


class ModelUnasked(Exception):
    """No input was found that the model accepts."""


@dataclass(frozen=True, slots=True)
class GradientFlaw:
    """What is wrong with a model's gradients. ``said`` completes a sentence that begins with the
    model.
    """

    said: str
    seen: bool = False
    """Whether a run shows it too, as where a parameter gets no gradient at all."""


def untrue(calls: Iterable[tuple[nn.Module, object]]) -> str | None:
    """Which of a program's own models gives other gradients than the derivatives of its outputs.

    ``calls``: each of them, with what it was first called with.
    """
    for model, given in calls:
        if not isinstance(given, tuple) or not given or next(_tensors(given[0]), None) is None:
            continue
        found = unseen_flaw(_OneInput(model, given[1:]) if given[1:] else model, given[0])
        if found is not None:
            return f"`{type(model).__name__}` {found.said}"
    return None


def untrue_loss(
    calls: Iterable[tuple[type[torch.autograd.Function], tuple[Any, ...]]],
) -> str | None:
    """Which of a program's own autograd functions, that return a loss, has another backward than the
    derivative of its forward.

    ``calls``: each of them, with what it was first called with.
    """
    for function, given in calls:
        inputs = [
            nn.Parameter(v.detach().double(), v.requires_grad)
            if isinstance(v, Tensor) and v.is_floating_point()
            else v
            for v in given
        ]
        asked = [v for v in inputs if isinstance(v, nn.Parameter) and v.requires_grad]
        with unseen(), contextlib.suppress(ModelUnasked):
            found = _disagreement(asked, functools.partial(_value_of, function, inputs))
            if found is not None and not found.seen:
                return f"`{function.__name__}` {found.said}"
    return None


def enlarged(calls: Iterable[tuple[nn.Module, object]]) -> str | None:
    """Which of a program's own models holds hooks that make gradients larger than without them. Hooks
    that mask or clip make none larger, and those that change what comes out are part of the model.
    """
    for model, given in calls:
        held = [hooks for hooks in _hooks_of(model) if hooks]
        if not held or not isinstance(given, tuple) or not isinstance(given[0], Tensor):
            continue
        parameters = [p for p in model.parameters() if p.requires_grad]
        with contextlib.suppress(ModelUnasked), _apart(model, torch.float32):
            run = _run_on(model, _taken_by(model, given[0]))
            weights, output = _drawn(run().shape), run()
            hooked = _gradients(parameters, run(), weights)
            kept = [dict(hooks) for hooks in held]
            try:
                for hooks in held:
                    hooks.clear()
                plain, same = _gradients(parameters, run(), weights), torch.equal(run(), output)
            finally:
                for hooks, was in zip(held, kept, strict=True):
                    hooks.update(was)
            if same and any(map(_is_larger, hooked, plain)):
                return (
                    f"hooks of `{type(model).__name__}` make gradients larger than the derivatives"
                )
    return None


def _hooks_of(model: nn.Module) -> Iterator[Any]:
    for module in model.modules():
        yield from (module._forward_hooks, module._backward_hooks, module._backward_pre_hooks)
    for parameter in model.parameters():
        yield parameter._backward_hooks
        yield getattr(parameter, "_post_accumulate_grad_hooks", None)


def _is_larger(hooked: Tensor | None, plain: Tensor | None) -> bool:
    if hooked is None or plain is None:
        return False
    return bool((hooked.abs() > (1.0 + CLOSE) * plain.abs() + CLOSE * plain.abs().max()).any())


def _value_of(function: type[torch.autograd.Function], inputs: list[Any]) -> Tensor:
    return cast("Tensor", function.apply(*inputs)).double().reshape(1)


class _OneInput(nn.Module):
    """A model that takes more than a batch: the rest stays as it was at its first call."""

    def __init__(self, model: nn.Module, rest: tuple[Any, ...]) -> None:
        super().__init__()
        self.model, self.rest = model, rest

    def forward(self, batch: Tensor) -> Any:
        """What it says to ``batch``, with as much of the rest as belongs to its rows."""
        return self.model(batch, *(_beside(value, batch) for value in self.rest))


def _beside(value: Any, batch: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return value
    rows = value[: len(batch)] if value.dim() and len(value) > len(batch) else value
    return rows.detach().to(batch.dtype) if rows.is_floating_point() else rows.detach()


def unseen_flaw(model: nn.Module, inputs: Tensor) -> GradientFlaw | None:
    """What is wrong with the gradients of a model that stays in place, where no run would show it."""
    homes = {type(layer).__module__.partition(".")[0] for layer in model.modules()}
    if homes <= {"torch", __name__.partition(".")[0]}:
        return None
    try:
        found = flaw(model, inputs)
    except ModelUnasked:
        return None
    return found if found is not None and not found.seen else None


def flaw(model: nn.Module, inputs: Tensor) -> GradientFlaw | None:
    """What is wrong with a model's gradients; ``None`` for nothing.

    Raises:
        Unasked: it accepts none of the inputs that were tried, or its outputs differ each time.
    """
    if sum(p.numel() for p in model.parameters()) > LARGEST:
        raise ModelUnasked
    with _apart(model, torch.float32):
        taken = _taken_by(model, inputs)
        if _strangers(model, _run_on(model, taken)):
            return GradientFlaw("trains tensors that are none of its parameters")
    with _apart(model, torch.float64):
        for parameter in model.parameters():  # away from exact zeros, where a ReLU has no slope
            parameter.data += 0.02 * _drawn(parameter.shape)
        run = _run_on(model, taken.double() if taken.is_floating_point() else taken)
        if not _runs(run) or not torch.equal(run(), run()):
            raise ModelUnasked
        trained = [p for p in model.parameters() if p.requires_grad]
        asked = trained[:: max(1, len(trained) // ASKED)]
        return _disagreement(asked, run)


@contextlib.contextmanager
def _apart(model: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """In another precision, with nothing seen, printed or left behind."""
    if {p.dtype for p in model.parameters()} - {torch.float32}:
        raise ModelUnasked
    usual, state, other_state = torch.get_default_dtype(), torch.get_rng_state(), random.getstate()
    buffers = [(b, b.clone()) for b in model.buffers()]
    given = [(p, p.grad, p.detach().clone()) for p in model.parameters()]
    noted = [(held, list(held)) for held in _lists(model)]
    for parameter in model.parameters():  # or they would be converted in place
        parameter.grad = None
    try:
        with unseen(), contextlib.redirect_stdout(io.StringIO()):
            torch.set_default_dtype(dtype)
            model.to(dtype)
            yield
    finally:
        torch.set_default_dtype(usual)
        torch.set_rng_state(state)
        random.setstate(other_state)
        model.float()
        for parameter, gradient, value in given:
            parameter.grad = gradient
            parameter.data.copy_(value)
        for buffer, was_held in buffers:
            buffer.data = was_held
        for held, was in noted:
            held[:] = was


def _lists(model: nn.Module) -> Iterator[list[Any]]:
    """What a forward or a hook may write into: lists of the model and of the program."""
    program = sys.modules.get(type(model).__module__)
    for home in [*model.modules(), *([program] if program is not None else [])]:
        for value in list(vars(home).values()):
            within = value.values() if isinstance(value, dict) else [value]
            yield from (held for held in list(within) if isinstance(held, list))


def _taken_by(model: nn.Module, inputs: Tensor) -> Tensor:
    if _runs(_run_on(model, inputs[:ROWS])):
        return inputs[:ROWS]
    raise ModelUnasked


def _runs(run: RunModel) -> bool:
    with contextlib.suppress(Exception):  # whatever a posted forward raises: not this input
        return run().numel() > 0
    return False


def _run_on(model: nn.Module, value: Tensor) -> RunModel:
    """The outputs in one row, the same whenever it is called. () -> (n,)"""
    buffers = [(b, b.clone()) for b in model.buffers()]

    def run() -> Tensor:
        for buffer, kept in buffers:
            buffer.data = kept.clone()
        torch.default_generator.manual_seed(0)
        random.seed(0)
        parts = [part.flatten() for part in _tensors(model(value.clone()))]
        return torch.cat(parts) if parts else torch.empty(0)

    return run


def _tensors(given: Any) -> Iterator[Tensor]:
    if isinstance(given, Tensor) and given.is_floating_point():
        yield given.double()
    elif isinstance(given, dict):
        for part in given.values():
            yield from _tensors(part)
    elif isinstance(given, tuple | list):
        for part in given:
            yield from _tensors(part)


def _strangers(model: nn.Module, run: RunModel) -> bool:
    """Whether it trains other tensors than its parameters, the same ones each time: an input that a
    checkpoint wants to ask for gradients is another one in every run, or gets none.
    """
    own, again = {id(p) for p in model.parameters()}, list(_leaves(run().grad_fn))
    lasting = {id(leaf) for leaf in again} - own
    output = run()
    strange = [leaf for leaf in _leaves(output.grad_fn) if id(leaf) in lasting]
    if not strange:
        return False
    kept = [leaf.grad for leaf in strange]
    gradients = _gradients(strange, output, _drawn(output.shape).to(output))
    for leaf, gradient in zip(strange, kept, strict=True):
        leaf.grad = gradient
    return any(gradient is not None and bool(gradient.any()) for gradient in gradients)


def _disagreement(parameters: list[nn.Parameter], run: RunModel) -> GradientFlaw | None:
    """Whether a gradient is another than the derivative along a direction, however large it is."""
    weights = _drawn(run().shape)
    of_all = [_gradients(parameters, run(), weights * scale) for scale in SCALES]
    for place, parameter in enumerate(parameters):
        towards = _drawn(parameter.shape)
        slope = _Slope(parameter, towards, run, weights)
        wanted = slope.at(NUDGE)
        for scale, gradients in zip(SCALES, of_all, strict=True):
            gradient = gradients[place]
            if gradient is None:
                return GradientFlaw("leaves parameters without a gradient", seen=True)
            found = float((gradient * towards).sum()) / scale
            if slope.is_like(found, wanted):
                continue
            if not slope.is_like(slope.at(10 * NUDGE), wanted):
                raise ModelUnasked  # it is not smooth there
            return GradientFlaw("gives gradients that are not the derivatives of its outputs")
    return None


@dataclass(frozen=True, slots=True)
class _Slope:
    """How the weighted sum of all outputs changes when one parameter moves along a direction."""

    parameter: nn.Parameter
    towards: Tensor
    run: RunModel
    weights: Tensor

    def at(self, nudge: float) -> float:
        """By central differences."""
        with torch.no_grad():
            kept = self.parameter.clone()
            self.parameter.copy_(kept + nudge * self.towards)
            ahead = self.run()
            self.parameter.copy_(kept - nudge * self.towards)
            behind = self.run()
            self.parameter.copy_(kept)
        return float(((ahead - behind) * self.weights).sum()) / (2 * nudge)

    def is_like(self, one: float, other: float) -> bool:
        """Up to rounding."""
        with torch.no_grad():
            noise = 1e-8 * float((self.run() * self.weights).abs().sum()) + 1e-12
        return abs(one - other) <= CLOSE * max(abs(one), abs(other)) + noise


def _gradients(
    parameters: Sequence[Tensor], output: Tensor, weights: Tensor
) -> list[Tensor | None]:
    """As the program's own backward would leave them: hooks included."""
    for parameter in parameters:
        parameter.grad = None
    if output.requires_grad:
        # What torch.autograd.backward calls; that itself is watched.
        _engine_run_backward(
            (output,), (weights,), *_ONCE, allow_unreachable=True, accumulate_grad=True
        )
    return [None if p.grad is None else p.grad.clone() for p in parameters]


def _drawn(shape: torch.Size) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def _leaves(node: Any) -> Iterator[Tensor]:
    """What a node of a graph is computed of and asks for gradients."""
    waiting, seen = [node], set[Any]()
    while waiting:
        if (each := waiting.pop()) in seen or each is None:
            continue
        seen.add(each)
        waiting += [following for following, _ in each.next_functions]
        if isinstance(variable := getattr(each, "variable", None), Tensor):
            yield variable
