"""Calls of the tracked models, and the gradient that flows back into their outputs."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from harness.domain.event import Forward, OutputGradient
from harness.sandbox.recorder.chains import Chains
from harness.sandbox.recorder.injected import at_output
from harness.sandbox.recorder.tape import Tape, as_blob, tensors_in
from harness.sandbox.recorder.transforms import outside, unwrapped

LARGE, SHOWN = 1 << 16, 4096
"""Elements from which on a tensor is written in part, and how many of it."""

WRAPPERS = (nn.parallel.DistributedDataParallel, nn.DataParallel)
"""What they hold is the model. Rank 0 may have called that first, to evaluate: ranks have to agree on
what its parameters are called.
"""


MISSPELT = frozenset(
    {"require_grad", "requires_grads", "require_grads", "required_grad", "requiresgrad"}
)
"""What is set on parameters by mistake, and means nothing."""

AS_WRITTEN = "as_written"
"""Attribute of a ``forward`` that is watched: what it was."""

FLAGS = 8
"""How many modules are told on which a flag was set in vain."""


class Forwards:
    """Wraps ``forward`` of the class, not of the instance.

    A wrapper on the instance would travel into ``copy.deepcopy`` and let a copy (a moving average,
    a checkpoint) run the original; one on ``__call__`` would miss ``model.forward(x)``. Called
    through DDP, ``torch.compile`` or a LightningModule, the tracked model is the same object.
    """

    def __init__(self, tape: Tape) -> None:
        """Nothing is tracked yet."""
        self._tape = tape
        self._tracked: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()
        self._wrapped: set[type[nn.Module]] = set()
        self._of_tracked: tuple[int, set[int]] = 0, set()
        self._flagged: dict[str, None] = {}
        self._ids = count()
        self.first_calls: dict[type[nn.Module], tuple[nn.Module, object]] = {}
        """A model of each class of the program's own, with what it was first called with. Further ones
        are not held, or copies that are made in every turn would all be kept.
        """
        self._seen: WeakSet[nn.Module] = WeakSet()
        self._inside = False
        self._first: int | None = None
        self._chains = Chains(lambda m, x, y: self._write("model", m, x, y))
        self.own = 0
        self.apart = False
        self.rebuilt = False
        self.brief = False
        """Whether no model is the workload's, so that nothing is recomputed from what enters."""
        self._layers: tuple[object, ...] = ()
        self._held: list[tuple[Mapping[str, object], str]] = []
        self._cast: str | None = None
        """The element type of autocast that a layer of the model that runs was called under: Accelerate
        puts it around ``forward``, and models have it in there.
        """
        self.learning_rates: Callable[[], tuple[float, ...]] = tuple
        self.came_out: Callable[[nn.Module, list[Tensor]], None] = lambda *_: None
        """Told what each recorded call returned."""

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """What is called inside is not recorded."""
        self._inside, before = True, self._inside
        try:
            yield
        finally:
            self._inside = before

    def track(self, model: nn.Module, name: str = "model", *, part: bool = False) -> None:
        """Record the outermost calls of ``model`` from now on.

        The first one named ``model`` is the workload's, or a ``part`` of it; any other is one of the
        program's own.
        """
        if model in self._tracked:
            return
        if not part and (name != "model" or name in self._tracked.values()):
            self.own += 1
            name = f"own{self.own}"
        elif not part:
            self._chains.watch(model)
            self._layers = _layers(model)
            self._held = [(m._parameters, key) for m in model.modules() for key in m._parameters]
        self.apart = self.apart or part
        self._tracked[model] = name
        self._tape.register("" if name == "model" else f"{name}.", model.named_parameters())
        if type(model) not in self._wrapped:
            self._wrapped.add(type(model))
            self._wrap(type(model))

    def flagged(self) -> tuple[str, ...]:
        """``Linear.requires_grad = False`` for modules on which that was set, and whose parameters are
        otherwise, now or when this was asked before; ``Parameter.require_grad = False`` for what is no
        flag at all.
        """
        inside = [m for whole in list(self._tracked) for m in whole.modules()]
        beside = [v for m in inside for v in vars(m).values() if isinstance(v, nn.Module)]
        found = self._flagged
        for module in (*inside, *beside):  # parts that were lent under a name are no submodules
            flag, parameters = vars(module).get("requires_grad"), list(_parameters(module))
            in_vain = any(p.requires_grad is not flag for p in parameters)
            if isinstance(flag, bool) and in_vain and not _has_such_a_flag(type(module)):
                found[f"{type(module).__name__}.requires_grad = {flag}"] = None
            for name, value in (item for p in parameters for item in vars(p).items()):
                if name in MISSPELT:
                    found[f"Parameter.{name} = {value}"] = None
        return tuple(found)[:FLAGS]

    @property
    def unlike_the_workload(self) -> bool:
        """Whether there is a model that nobody can build anew who knows the workload alone."""
        return self.own > 0 or self.apart or self.rebuilt

    def _look_for_changes(self, model: nn.Module) -> None:
        """Notice that the program exchanged or added layers of the workload's model."""
        lost = any(key not in there for there, key in self._held)
        if self.rebuilt or not (lost or _layers(model) != self._layers):
            return
        self.rebuilt = True
        self._tape.take_over(model)

    def find_own(self) -> None:
        """Track models that the program defines itself, at their first call.

        A module is taken as a whole when it holds no parameter that is known already. Wrappers
        around the tracked model (DDP, a LightningModule) hold only known ones, and of a mixture
        each unknown part is found when it is called.
        """
        register_module_forward_pre_hook(self._look_at)
        after: Callable[..., Any] = self._after_first
        register_module_forward_hook(after, always_call=True)

    def _look_at(self, module: nn.Module, _: object) -> None:
        if self._inside:
            self._cast = self._cast or _autocast()
            return
        self._cast = None
        if isinstance(module, WRAPPERS):
            return
        if module in self._tracked and "forward" in vars(module):
            # the program or a library put another in its place, which does not lead through the class
            self._first, self._inside = id(module), True
            return
        if module in self._tracked or module in self._seen:
            return
        self._seen.add(module)
        parameters = list(nn.Module.parameters(module))
        if parameters and (
            not any(self._tape.knows(p) for p in parameters)
            or self._is_put_together(module)
            or self._is_no_copy(module)
        ):
            self.track(module, "own")
            # torch has looked ``forward`` up already: this one call goes by the hooks
            self._first, self._inside = id(module), True

    def _is_put_together(self, module: nn.Module) -> bool:
        """Whether a class of the program's own makes another model of the layers of the tracked one."""
        if type(module).__module__ != "__main__":
            return False
        if self._of_tracked[0] != len(self._tracked):  # once for each model, not for each layer
            inside = {id(part) for whole in self._tracked for part in whole.modules()}
            self._of_tracked = len(self._tracked), inside
        return not any(
            part in self._tracked or id(part) in self._of_tracked[1]
            for part in (module, *module.children())
        )

    def _is_no_copy(self, module: nn.Module) -> bool:
        """Whether it holds the very layers of a tracked model, as ``copy.copy`` returns it."""
        same = any(vars(module)["_modules"] is vars(one)["_modules"] for one in self._tracked)
        self._tape.is_shared = self._tape.is_shared or same
        return same

    def _after_first(self, module: nn.Module, inputs: object, output: object) -> object:
        """What torch hands on in place of ``output``; ``None`` for that itself."""
        if self._first == id(module):
            self._first, self._inside = None, False
            self.first_calls.setdefault(type(module), (module, inputs))
            return self._write(self._tracked[module], module, inputs, output)
        return None if self._inside else self._chains.called(module, inputs, output)

    def _wrap(self, cls: type[nn.Module]) -> None:
        original = cls.forward
        forwards = self

        def forward(model: nn.Module, *args: object, **kwargs: object) -> object:
            name = forwards._tracked.get(model)
            if name is None or forwards._inside:
                return original(model, *args, **kwargs)
            forwards._inside = True
            try:
                output = original(model, *args, **kwargs)
            finally:
                forwards._inside = False
            return forwards._write(name, model, (args, kwargs), output)

        setattr(forward, AS_WRITTEN, original)
        # a library asks what forward takes; `__wrapped__` would tell as well, and lead past this probe
        setattr(forward, "__signature__", inspect.signature(original))  # noqa: B010 - mypy refuses otherwise
        setattr(cls, "forward", forward)  # noqa: B010 - mypy refuses to assign to a method

    def _write(self, name: str, model: nn.Module, inputs: object, output: object) -> object:
        """Returns what the model's caller gets."""
        seen = [t for t in tensors_in(output) if t.is_floating_point()]
        entered = unwrapped(tensors_in(inputs))
        if unwrapped(seen) is None or entered is None:
            return output
        number = next(self._ids)
        differentiable = any(t.requires_grad for t in seen)
        one = self._tape.injected.next_pass() if differentiable else None
        returned = output if one is None else at_output(one, output)
        handed = [t for t in tensors_in(returned) if t.is_floating_point()]
        outputs = unwrapped(handed) or []
        with outside():
            about = self._about(name, model, number, entered, differentiable=differentiable)
            about = about.model_copy(update={"injected": one})
            self._event(about, model, entered, outputs)
        self.came_out(model, handed)
        for index, tensor in enumerate(handed):  # what it returned, which holds what was injected
            if tensor.requires_grad:
                tensor.register_hook(self._hook(number, index))
        return returned

    def _about(
        self,
        name: str,
        model: nn.Module,
        number: int,
        entered: list[Tensor],
        *,
        differentiable: bool,
    ) -> Forward:
        return Forward(
            id=number,
            model=name,
            training=model.training,
            modal=model.training or name == "model" or _is_modal(model),
            differentiable=differentiable,
            autocast=_autocast() or self._cast or _reduced(model),
            learning_rates=self.learning_rates(),
            attached=any(t.grad_fn is not None for t in entered),
            frozen=self._tape.frozen(),
            sampled=self._tape.large,
        )

    def _event(
        self, about: Forward, model: nn.Module, entered: list[Tensor], outputs: list[Tensor]
    ) -> None:
        if about.model == "model":
            self._look_for_changes(model)
        changed = self._tape.changed_unseen()
        blobs = list(self._tape.values(changed))
        if about.differentiable:
            blobs += [as_blob(f"input:{i}", self._shown(t)) for i, t in enumerate(entered)]
            blobs += [as_blob(f"output:{i}", self._shown(t)) for i, t in enumerate(outputs)]
        self._tape.write(about, blobs)

    def _shown(self, tensor: Tensor) -> Tensor:
        """The whole of it; where nobody recomputes it and it is large, elements at a fixed stride."""
        if tensor.layout == torch.sparse_coo:
            tensor = tensor.detach().coalesce().values()
        if not self.brief or tensor.numel() <= LARGE:
            return tensor
        return tensor.detach().reshape(-1)[:: tensor.numel() // SHOWN][:SHOWN]

    def _hook(self, forward: int, output: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            plain = unwrapped([gradient])
            if plain is not None:
                event = OutputGradient(forward=forward, output=output)
                with outside():
                    self._tape.write(event, [as_blob("grad", self._shown(plain[0]))])

        return hook


_parameters = nn.Module.parameters  # a class of the program's may have its own


def _has_such_a_flag(cls: type[nn.Module]) -> bool:
    """Whether a method of a class of the program's own speaks of ``requires_grad``, which may be an
    attribute of its own.
    """
    own = (c for c in cls.__mro__ if not c.__module__.startswith("torch."))
    codes = (getattr(f, "__code__", None) for c in own for f in vars(c).values())
    return any("requires_grad" in code.co_names for code in codes if code is not None)


def _layers(model: nn.Module) -> tuple[object, ...]:
    """The same as long as a model is made of the same layers."""
    return tuple(
        (name, id(module), "forward" in vars(module)) for name, module in model.named_modules()
    )


def _is_modal(model: nn.Module) -> bool:
    """Whether a layer that is in evaluation works differently there, as dropout and batch norm do."""
    for module in model.modules():
        called = type(module).forward
        code = getattr(getattr(called, AS_WRITTEN, called), "__code__", None)
        rate = getattr(module, "p", getattr(module, "dropout", None))
        by_batch = getattr(module, "track_running_stats", None) is False
        if module.training or code is None or "training" not in code.co_names:
            continue
        if not by_batch and not isinstance(rate, nn.Module) and rate != 0:
            return True
    return False


def _reduced(model: nn.Module) -> str | None:
    """The element type of a model that was cast to bfloat16: it computes as under autocast."""
    types = {p.dtype for p in nn.Module.parameters(model)}
    return "bfloat16" if types == {torch.bfloat16} else None


def _autocast() -> str | None:
    if not torch.is_autocast_enabled("cpu"):
        return None
    return str(torch.get_autocast_dtype("cpu")).removeprefix("torch.")
