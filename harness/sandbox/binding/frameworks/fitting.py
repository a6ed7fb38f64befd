"""Lightning programs: LightningModules are completed, and fitted where the program never does it."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch import nn

from harness.sandbox.binding.analysis import Analysis
from harness.sandbox.binding.flow.definitions import Class
from harness.sandbox.binding.frameworks import huggingface, lightning
from harness.sandbox.binding.objects.loaders import Loader
from harness.sandbox.binding.resolver import Resolver
from harness.sandbox.binding.roles.forms import Form, Leaf, Row
from harness.sandbox.binding.starting import Call, Start
from harness.sandbox.binding.unbound import Unbound


class Fitting:
    """What one program needs of Lightning; does nothing for other programs."""

    def __init__(self, analysis: Analysis, resolver: Resolver, module: ModuleType) -> None:
        """Patch the trees that the program uses."""
        self._analysis = analysis
        self._resolver = resolver
        self._module = module
        calls = [path for path, _ in analysis.reader.library_calls]
        bases = [base for cls in analysis.lightning for base in cls.bases]
        self._paths = [p for p in (*calls, *bases) if p.partition(".")[0] in lightning.INSTALLED]
        self._completion: lightning.Completion | None = None
        huggingface.install(calls)
        if self._paths:
            values = resolver.values
            epochs = int(values.number("epochs"))
            lightning.install(self._paths, epochs, resolver.notes, values.world_size)
            self._completion = lightning.Completion(analysis.lightning, resolver, self._loader)

    def complete(self, model: nn.Module) -> None:
        """Give a LightningModule what its class leaves out; other models stay as they are."""
        if self._completion is not None and hasattr(model, "configure_optimizers"):
            self._completion.complete(model)

    def starts(self, *, fitted: bool) -> list[Start]:
        """The ``fit`` that the program leaves out. ``fitted``: it calls one itself."""
        trainers = [p for p in self._paths if p.endswith("Trainer")]
        if fitted or not self._paths or not (trainers or self._analysis.lightning):
            return []
        name = self._class.name if self._class else "the workload's model"
        self._resolver.notes.append(f"Trainer.fit is called with {name}")
        return [Start(Call("Trainer.fit", (name,)), self._fit)]

    @property
    def _class(self) -> Class | None:
        """The class to fit: one with a training step that no other builds on."""
        classes = self._analysis.lightning
        based = {base for cls in classes for base in cls.bases}
        trained = [c for c in classes if "training_step" in c.methods and c.name not in based]
        return next(iter(trained or classes), None)

    def _fit(self) -> None:
        trainer: Any = lightning.trainer_of(self._module, lightning.tree_of(self._paths))
        existing = [
            v for v in vars(self._module).values() if self._class and isinstance(v, self._made())
        ]
        model = existing[0] if existing else self.model()
        self.complete(model)
        trainer.fit(model)

    def _made(self) -> type[Any]:
        assert self._class is not None
        found: type[Any] = vars(self._module)[self._class.name]
        return found

    def model(self) -> nn.Module:
        """An instance of a module that the program never makes: of its own class, or a module
        around the workload's model.
        """
        if self._completion is None:
            raise Unbound("fit", "is called on a trainer that the program does not show")
        if self._class is not None:
            return self._completion.instance(self._class, self._made())
        make: Callable[[], nn.Module] = lightning.plain_module(
            lightning.tree_of(self._paths), self._resolver.values.criterion
        )
        return make()

    def _loader(self) -> Loader:
        element = self._analysis.inference.fitted.element
        pair: Form = Row((Leaf("input"), Leaf("target")), mutable=True)
        stepping = self._class is not None and "training_step" in self._class.methods
        return self._resolver.loader(self._resolver.form(element) if stepping else pair)
