"""Programs of frameworks: Trainers run here, LightningModules are completed, and both are started."""

import ast
import importlib
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from harness.sandbox import extras
from harness.sandbox.absent.imports import paths_in
from harness.sandbox.frameworks import huggingface, lightning, trainer
from harness.sandbox.names.table import libraries
from harness.sandbox.unbound import Unbound
from harness.sandbox.world.lending import LATE, Lender
from harness.sandbox.world.reading import last_name
from harness.sandbox.world.roots import Call

DRIVERS = ("Trainer", "Fabric", "LightningModule")
"""Classes by which a framework drives a loop."""

Starts = list[tuple[Call, Callable[[], None]]]


class Fitting:
    """What one program needs of Lightning and of Hugging Face; nothing for other programs."""

    def __init__(self, lender: Lender) -> None:
        """Patch the packages that the program uses."""
        self._lender = lender
        self._reading = lender.reading
        paths = self._paths()
        huggingface.install(paths)
        tops = {path.partition(".")[0] for path in paths}
        self._lightning = bool(tops & lightning.INSTALLED) and extras.is_here("lightning")
        self._tree = lightning.tree_of(paths)
        self._epochs = int(lender.values.number("epochs"))
        if self._lightning:
            lightning.install(paths, self._epochs, lender.notes, lender.values.world_size)
            self._complete_on_construction()
            lender.lightning_module = self.model
        if "transformers" in tops and extras.is_here("transformers"):
            trainer.install(self._epochs, lender.notes)

    def _paths(self) -> list[str]:
        """Dotted paths of what it imports, and of names of libraries that it does not import."""
        found = [libraries()[n] for n in self._reading.free if n in libraries()]
        found += paths_in(self._reading.nodes)
        modules = [n for n in self._reading.nodes if isinstance(n, ast.Import)]
        found += [f"{alias.name}.{n}" for m in modules for alias in m.names for n in DRIVERS]
        mentioned = self._reading.mentioned
        return [
            p
            for p in found
            if not p.endswith((".Trainer", ".Fabric")) or p.rpartition(".")[2] in mentioned
        ]

    # ----------------------------------------------------------------------------------- starting

    def starts(self) -> Starts:
        """The ``fit`` that the program leaves out."""
        called = self._reading.called
        shown = self._reading.mentioned & {"Trainer"} or self._modules()
        if self._lightning and "fit" not in called and shown and "Fabric" not in called:
            name = self._modules()[-1].name if self._modules() else "the workload's model"
            self._lender.notes.append(f"Trainer.fit is called with {name}")
            return [(Call("Trainer.fit", (name,)), self._fit)]
        return []

    def _modules(self) -> list[ast.ClassDef]:
        """LightningModules of the program that no other builds on, those with a step first."""
        found = [c for c in self._reading.classes if self._reading.is_a(c, "LightningModule")]
        based = {last_name(b) for c in found for b in c.bases}
        trained = [c for c in found if _has(c, "training_step") and c.name not in based]
        return trained[:1] or found[:1]

    def _fit(self) -> None:
        made: Any = lightning.trainer_of(self._lender.module, self._tree)
        names = {c.name for c in self._modules()}
        there = [v for v in vars(self._lender.module).values() if type(v).__name__ in names]
        model = there[0] if there else self.model()
        self.complete(model)
        made.fit(model)

    def model(self) -> nn.Module:
        """An instance of the program's module, or a plain one around the workload's model."""
        for cls in self._modules():
            made = vars(self._lender.module)[cls.name]
            given = [a for a in _constructor(cls) if a not in ("self", "args", "kwargs")]
            found: nn.Module = made(**{name: self._lender.lend(name) for name in given})
            return found
        plain = lightning.plain_module(self._tree, self._lender.values.criterion)
        return plain()  # type: ignore[no-any-return]  # a module

    # --------------------------------------------------------------------------------- completing

    def _complete_on_construction(self) -> None:
        base: Any = importlib.import_module(self._tree).LightningModule
        fit = importlib.import_module(self._tree).Trainer.fit
        completing = self

        def fitted(self: Any, model: Any, *args: Any, **keywords: Any) -> Any:
            if isinstance(model, base):
                completing.complete(model)
            if not completing._modules():
                for callback in self.callbacks:
                    callback.strict = False  # whoever shows no module logs what it monitors
            return fit(self, model, *args, **keywords)

        importlib.import_module(self._tree).Trainer.fit = fitted

    def complete(self, instance: Any) -> None:
        """Add forward, optimizer, loader and missing attributes to a LightningModule."""
        values = self._lender.values
        cls = next((c for c in self._reading.classes if c.name == type(instance).__name__), None)
        for name in self._reading.unset(cls) if cls is not None else ():
            known = hasattr(type(instance), name)  # asked first: ``trainer`` raises before a fit
            if not known and not hasattr(instance, name) and self._lender.role(name):
                found = self._lender.lend(name)
                setattr(instance, name, values.model if found is LATE else found)
        self._leave_to_the_program(instance)
        defined = {
            n for c in type(instance).__mro__ for n in vars(c) if not lightning._is_library(c)
        }
        called = "self" in self._reading.called_plainly or "forward" in self._reading.mentioned
        own = any(True for _ in instance.parameters()) and "training_step" in defined
        if "forward" not in defined and (called or not own):
            model = getattr(instance, "as_posted", None) or values.model
            if not any(part is model for part in instance.modules()):
                instance.add_module("workload_model", model)
            _method(instance, "forward", lambda _, x: model(x))
        if "training_step" not in defined:
            _method(instance, "training_step", lightning.step_with(values.criterion))
        if "configure_optimizers" not in defined:
            _method(instance, "configure_optimizers", self._optimizers)
            self._lender.notes.append("configure_optimizers: the workload's optimizer")
        if "train_dataloader" not in defined:
            _method(instance, "train_dataloader", lambda _: self._lender.data.loader())

    def _leave_to_the_program(self, instance: Any) -> None:
        """A step that goes backward by itself is refused by a module that does so too."""
        by_hand = "manual_backward" in self._reading.called
        if by_hand and "automatic_optimization" not in self._reading.mentioned:
            instance.automatic_optimization = False

    def _optimizers(self, instance: Any) -> Any:
        """One for all, and a schedule where the program moves one.

        Raises ``Unbound`` where the training step takes several apart.
        """
        for node in self._reading.nodes:
            match node:
                case ast.Assign(targets=[ast.Tuple()], value=ast.Call(func=func)) if (
                    last_name(func) == "optimizers"
                ):
                    raise Unbound("configure_optimizers", "is not shown, and there are several")
        made = self._lender.values.workload.optimizer(instance.parameters())
        if "lr_schedulers" not in self._reading.called:
            return made
        return [made], [torch.optim.lr_scheduler.LambdaLR(made, lambda _: 1.0)]


def _has(cls: ast.ClassDef, name: str) -> bool:
    return any(isinstance(s, ast.FunctionDef) and s.name == name for s in cls.body)


def _constructor(cls: ast.ClassDef) -> list[str]:
    for s in cls.body:
        if isinstance(s, ast.FunctionDef) and s.name == "__init__":
            places = s.args.args[: len(s.args.args) - len(s.args.defaults)]
            return [a.arg for a in places]
    return []


def _method(instance: Any, name: str, function: Callable[..., Any]) -> None:
    object.__setattr__(instance, name, types.MethodType(function, instance))
