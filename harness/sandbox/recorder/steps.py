"""Optimizer steps, with the gradients at the moment they are consumed."""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from harness.domain.event import OptimizerStep, ParameterGroup
from harness.sandbox.recorder.memories import Memories
from harness.sandbox.recorder.numbers import norms_named
from harness.sandbox.recorder.rates import rates_of
from harness.sandbox.recorder.tape import Blob, Tape, dense

StepFunction = Callable[..., Any]

OFTEN = 3
"""So many steps that move what is frozen are no transition."""

STAYS = 5
"""What is zero for so many steps stays zero: a rate of 0 at first, and a layer behind it, take two."""


class Steps:
    """Wraps ``step`` of every optimizer class inside torch's own hook wrapper.

    A global pre-hook is too early: an optimizer's own pre-hooks run after it and may clip, and with
    a closure the gradient does not exist yet. Here, hooks of all kinds have run, and a closure is
    wrapped so that the gradients are taken when it returns (Lightning's automatic optimisation
    runs forward, backward and the clip inside it).
    """

    def __init__(self, tape: Tape, begins: Callable[[], None] = lambda: None) -> None:
        """No optimizer has stepped yet. ``begins`` is called before each step."""
        self._tape = tape
        self._begins = begins
        self._numbers: WeakKeyDictionary[Optimizer, int] = WeakKeyDictionary()
        """The optimizers that have stepped, as long as the program has them."""
        self._next = count()
        self._last: dict[str, int] = {}
        """Which optimizer stepped a parameter last, by its number."""
        self._running: list[_Pending] = []
        self._asked_for_one: set[str] = set()
        """Parameters that asked for a gradient when they were stepped."""
        self._moved: Counter[str] = Counter()
        self._zeros: Counter[str] = Counter()
        self.memories = Memories(tape)
        self.count = 0
        self.broken_off = False
        """Whether the run ended within a step, as one that calls its closure very often."""
        self.given: tuple[Optimizer, ...] = ()
        self.evaluates: Callable[[int], None] = lambda _: None
        """Called before an optimizer calls its closure, with how often it did in this step."""
        self.consumes: Callable[[Optimizer], None] = lambda _: None
        """Called before an optimizer consumes gradients."""

    def install(self) -> None:
        """Patch every optimizer class that exists, and those that are defined later."""
        hook = Optimizer.profile_hook_step

        def profile_hook_step(function: StepFunction) -> StepFunction:
            return hook(self._recorded(function))

        Optimizer.profile_hook_step = staticmethod(profile_hook_step)  # type: ignore[method-assign, assignment]  # the one place every class's step passes through
        for cls in _subclasses(Optimizer):
            step = cls.__dict__.get("step")
            if step is not None and getattr(step, "hooked", False):
                rewrapped = profile_hook_step(step.__wrapped__)
                rewrapped.hooked = True  # type: ignore[attr-defined]  # torch's own mark that a class is hooked
                cls.step = rewrapped  # type: ignore[method-assign]  # see above

    def learning_rates(self) -> tuple[float, ...]:
        """Learning rate of every group of every optimizer that has stepped."""
        return tuple(rate for optimizer in self._numbers for rate in rates_of(optimizer))

    def has_stepped(self, optimizer: Optimizer) -> bool:
        """Whether it made a step before."""
        return optimizer in self._numbers

    def trains(self, optimizer: Optimizer) -> bool:
        """Whether it has stepped, be it as the one that a wrapper shares its groups with, and no
        other has taken all its parameters over since.
        """
        groups = {id(group) for group in optimizer.param_groups}
        return any(
            self._last.get(self._tape.name(p)) == number
            for o, number in self._numbers.items()
            for group in o.param_groups
            if id(group) in groups
            for p in group["params"]
        )

    def has_trained(self, parameter: Tensor) -> bool:
        """Whether an optimizer that has stepped holds it."""
        return self._tape.knows(parameter) and self._tape.name(parameter) in self._last

    def _recorded(self, function: StepFunction) -> StepFunction:
        @wraps(function)
        def step(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            self._begins()
            closure = args[0] if args else kwargs.get("closure")
            pending = _Pending(self._tape, optimizer, self.evaluates, goes_back=callable(closure))
            before, frozen = _values(optimizer), self._frozen_again(optimizer)
            args, kwargs = pending.watch_closure(args, kwargs)
            if self._running and self._running[-1].sharded:
                return function(optimizer, *args, **kwargs)
            if self._running:
                # the innermost step is the one that consumes (a subclass calling super(), SAM)
                self._running[-1].delegated = True
            self._running.append(pending)
            if pending.closures == 0:
                self._note_zeros(optimizer)
                self.consumes(optimizer)
            try:
                with self.memories.around(optimizer, nested=len(self._running) > 1):
                    result = function(optimizer, *args, **kwargs)
            except SystemExit:
                self.broken_off = True
                raise
            finally:
                self._running.pop()
            if not (pending.delegated or _only_called(optimizer, before)):
                self._write(optimizer, pending)
                self._moved.update(n for n, p, old in frozen if not torch.equal(p, old))
            return result

        return step

    def moved_frozen(self) -> tuple[str, ...]:
        """Parameters that steps moved after they were frozen, their gradients being tensors of zeros."""
        return tuple(name for name, steps in self._moved.items() if steps >= OFTEN)

    def zero_factors(self) -> tuple[str, ...]:
        """Matrices that are zero in every number and got gradients of zeros, in all of many steps."""
        return tuple(name for name, steps in self._zeros.items() if steps >= STAYS)

    def _note_zeros(self, optimizer: Optimizer) -> None:
        """A factor of zeros gets a gradient as soon as what it is multiplied with is none."""
        first = optimizer not in self._numbers
        for p in _parameters(optimizer):
            if p.dim() < 2 or p.grad is None:
                continue
            name = self._tape.name(p)
            if first or name in self._zeros:
                if p.any() or dense(p.grad).any():
                    self._zeros.pop(name, None)
                else:
                    self._zeros[name] += 1

    def _frozen_again(self, optimizer: Optimizer) -> list[tuple[str, Tensor, Tensor]]:
        """What was trained and is frozen now, with a gradient of zeros: name, parameter, its values."""
        still = ((p, p.grad) for p in _parameters(optimizer) if not p.requires_grad)
        return [
            (name, parameter, parameter.detach().clone())
            for parameter, gradient in still
            if gradient is not None and not dense(gradient).any()
            if (name := self._tape.name(parameter)) in self._asked_for_one
        ]

    def _write(self, optimizer: Optimizer, pending: "_Pending") -> None:
        if optimizer not in self._numbers:
            self._numbers[optimizer] = next(self._next)
        groups = tuple(self._group(g) for g in optimizer.param_groups)
        names = [name for group in groups for name in group.parameters]
        event = OptimizerStep(
            optimizer=self._numbers[optimizer],
            type=f"{type(optimizer).__module__}.{type(optimizer).__qualname__}",
            groups=groups,
            fused_scale=pending.fused_scale,
            fused_skip=pending.fused_skip,
            closures=pending.closures,
            default_rate=_rate_of(optimizer),
            named_norms=norms_named(),
            own=not any(optimizer is given for given in self.given),
        )
        self._last |= dict.fromkeys(names, self._numbers[optimizer])
        asking = (p for p in _parameters(optimizer) if p.requires_grad)
        self._asked_for_one.update(map(self._tape.name, asking))
        self.count += 1
        values = self._tape.stepped(dict.fromkeys(names))
        self._tape.write(event, [*pending.gradients, *pending.put_back, *values])

    def _group(self, group: dict[Any, Any]) -> ParameterGroup:
        numbers: dict[str, float] = {}
        flags: dict[str, bool] = {}
        for key, value in group.items():
            if not isinstance(key, str):
                continue
            if isinstance(value, bool):
                flags[key] = value
            elif isinstance(value, (int, float)) or (
                isinstance(value, Tensor) and value.numel() == 1
            ):
                numbers |= _numbers(key, value)
            elif key == "betas" and isinstance(value, (tuple, list)) and len(value) == 2:
                numbers |= {**_numbers("beta1", value[0]), **_numbers("beta2", value[1])}
        names = tuple(self._tape.name(p) for p in group["params"])
        return ParameterGroup(parameters=names, numbers=numbers, flags=flags)


def _rate_of(optimizer: Optimizer) -> float | None:
    """The learning rate among the defaults of an optimizer; what wraps one may have none."""
    defaults = getattr(optimizer, "defaults", None)
    rate = defaults.get("lr") if isinstance(defaults, dict) else None
    return float(rate) if isinstance(rate, int | float) and math.isfinite(rate) else None


class _Pending:
    """One running step: the gradients as they were when they were last ready."""

    def __init__(
        self,
        tape: Tape,
        optimizer: Optimizer,
        evaluates: Callable[[int], None],
        *,
        goes_back: bool,
    ) -> None:
        """``goes_back``: whether a closure may be the first that calls the model, which names it."""
        self._tape, self._evaluates = tape, evaluates
        self._optimizer = optimizer
        self.delegated = False
        # its inner optimizer sees this rank's share, the others' parameters arrive before it returns
        self.sharded = type(optimizer).__name__ == "ZeroRedundancyOptimizer"
        self.closures = 0
        for parameter in () if goes_back else _parameters(optimizer):
            tape.name(parameter)  # a master takes the place of what is copied from it
        self.put_back = list(tape.changed_by_itself())
        """Parameters that the program changed since they were last written, as they are now."""
        self._take()

    def watch_closure(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        closure = args[0] if args else kwargs.get("closure")
        if not callable(closure):
            return args, kwargs

        def watched() -> Any:
            self._evaluates(self.closures)
            result = closure()
            self.closures += 1
            self._take()
            return result

        return ((watched, *args[1:]), kwargs) if args else (args, {**kwargs, "closure": watched})

    def _take(self) -> None:
        self.gradients: list[Blob] = [
            self._tape.blob(f"grad:{self._tape.name(p)}", p.grad)
            for p in _parameters(self._optimizer)
            if p.grad is not None
        ]
        honoured = _honours_a_scale(self._optimizer)
        scale = getattr(self._optimizer, "grad_scale", None) if honoured else None
        self.fused_scale = float(scale) if isinstance(scale, Tensor) else None
        found = getattr(self._optimizer, "found_inf", None) if honoured else None
        self.fused_skip = isinstance(found, Tensor) and bool(found.item())


def _honours_a_scale(optimizer: Optimizer) -> bool:
    """Whether its step divides by ``grad_scale`` itself. Of torch's own only fused kernels do; the
    others ignore the attribute, whoever sets it.
    """
    if _is_torchs(optimizer):
        may = "fused" in inspect.signature(type(optimizer)).parameters
        return may and all(group.get("fused") for group in optimizer.param_groups)
    return bool(getattr(optimizer, "_step_supports_amp_scaling", False))


def _numbers(key: str, value: Any) -> dict[str, float]:
    """One hyperparameter by its name; nothing where it is no number that has a size."""
    try:
        return {key: float(value)}
    except Exception:  # noqa: BLE001 - its conversion may be the program's own code
        return {}


def _values(optimizer: Optimizer) -> list[Tensor] | None:
    """What an optimizer of the program's own could change; ``None`` for torch's."""
    if _is_torchs(optimizer):
        return None
    return [p.detach().clone() for p in _parameters(optimizer)]


def _is_torchs(optimizer: Optimizer) -> bool:
    return type(optimizer).__module__.startswith("torch.")


def _only_called(optimizer: Optimizer, before: list[Tensor] | None) -> bool:
    """Whether a ``step`` of the program's own put the update off: it could have moved and did not."""
    if before is None or not any(group.get("lr") for group in optimizer.param_groups):
        return False
    now = [*_parameters(optimizer)]
    pushed = any(p.grad is not None and bool(dense(p.grad).any()) for p in now)
    return pushed and len(now) == len(before) and all(map(torch.equal, before, now))


def _parameters(optimizer: Optimizer) -> Iterator[nn.Parameter]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _subclasses(cls: type[Optimizer]) -> Iterator[type[Optimizer]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)
