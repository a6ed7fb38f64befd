"""Turns roles into objects, for the free names and parameters of one program."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.choices import Choices
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.frameworks import fabric, huggingface
from harness.sandbox.binding.objects import criteria, models
from harness.sandbox.binding.objects.asked_models import Models
from harness.sandbox.binding.objects.following import Following
from harness.sandbox.binding.objects.loaders import Loader, OnBatch, leaves
from harness.sandbox.binding.objects.makers import LATE
from harness.sandbox.binding.objects.parts import ROLES
from harness.sandbox.binding.objects.values import Namespace, Values
from harness.sandbox.binding.roles import batches, reporting, whole
from harness.sandbox.binding.roles.forms import Form, Part
from harness.sandbox.binding.roles.plain import BY_NAME
from harness.sandbox.binding.roles.results import Paths
from harness.sandbox.binding.roles.roles import Judge, is_untouched
from harness.sandbox.binding.roles.teams import Teams
from harness.sandbox.binding.unbound import Unbound
from harness.workloads import Batch

__all__ = ["LATE", "PER_BATCH", "Resolver", "Told"]

OF_A_FABRIC = frozenset({".clip_gradients", ".no_backward_sync", ".setup", ".setup_dataloaders"})
"""Methods that only a Fabric has, and no Accelerator."""

PER_BATCH: dict[str, Part] = {
    "target": "target",
    "mask": "mask",
    "input": "input",
    "count": "count",
}
"""Roles whose value changes with every batch, and the part of the batch that each one is."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is known about a program before anything is bound."""

    judge: Judge
    """Decides roles."""
    paths: Paths
    """Paths of values to a backward."""
    choices: Choices
    """Texts of options."""
    teams: Teams
    """Optimizers that train one model together."""
    wrap: bool
    """Whether a free model has to come wrapped in DDP."""
    own_model: bool
    """Whether the program builds its model itself."""
    whole: bool
    """Whether free inputs and targets are those of all data."""


class Resolver(Models):
    """Turns roles into objects, and takes down what it did."""

    def __init__(
        self,
        values: Values,
        told: Told,
        module: ModuleType,
        on_batch: OnBatch,
    ) -> None:
        """``told``: what is known about the program."""
        self.values = values
        self.judge = told.judge
        self.paths = told.paths
        self.choices = told.choices
        self.teams = told.teams
        self.module = module
        self.on_batch = on_batch
        self.wrap = told.wrap
        self.own_model = told.own_model
        self.whole = told.whole
        self.published: dict[str, Part] = {}
        self.notes: list[str] = []
        self._following = Following(values.model, values.batches, self._rebind)
        self.handed = 0
        """Batches that were handed out so far, validation included."""
        self._loaders: dict[tuple[str, Form], Loader] = {}
        self._input_name = models.input_name(values.model)

    def free(self, name: str, node: Node) -> Any:
        """The object for a free name; ``LATE`` where only the running program can tell."""
        extra = self.values.workload.extra_names()
        if name in extra and not self._is_data(node):
            self.note(name, "the workload's own")
            return extra[name]
        role = self.judge.role(node)
        if role is None:
            raise Unbound(name, "is used in no way that tells what it is")
        found = self.of(role, name, node)
        said = self.values.parts.said(role, [name, *node.all_names()])
        self.note(name, _said(said, found))
        return found

    def _part_of_data(self, role: str, name: str) -> Any:
        if self.whole and role in whole.PARTS:
            return self.values.whole(PER_BATCH[role])
        self.published[name] = PER_BATCH[role]
        first = leaves(self.values.batches[0])[PER_BATCH[role]]
        self._following.start(first, PER_BATCH[role])
        return first

    def _is_data(self, node: Node) -> bool:
        return bool(node.uses & {"iter", "loss_target"})

    def note(self, name: str, role: str) -> None:
        """Take down what ``name`` was taken for."""
        self.notes.append(f"{name}: {role.replace('_', ' ')}")

    def named(self, name: str) -> Any:
        """A plain value by name alone: for required arguments of a command line."""
        kind = hints.first([name], BY_NAME)
        if kind is None:
            return (
                "data"
                if hints.first([name], ("input", "loader", "settings"))
                else self._unnamed(name)
            )
        self.note(name, kind)
        return self.values.number(kind)

    def _unnamed(self, name: str) -> Any:
        raise Unbound(name, "is a required argument, and its name does not tell what it is")

    def of(self, role: str, name: str, node: Node) -> Any:
        """The object for ``role``."""
        special: dict[str, Callable[[str, Node], Any]] = {
            "loader": self._loader, "validation": self._validation, "dataset": self._dataset,
            "model": self.the_model, "lightning_model": self._lightning_model, "batch": self._batch,
            "criterion": self._criterion, "factory": self.maker, "namespace": self._namespace,
            "mapping": self._namespace, "engine": self._engine, "loss": self._moment,
            "output": self._moment, "logger": self.reporter, "choice": self._choice,
            "figure": reporting.figure, "optimizers": self._one_of_several,
            "schedulers": self._one_of_several,
        }  # fmt: skip
        if role in PER_BATCH:
            return self._part_of_data(role, name)
        if role in special and not (self.values.parts and role in ROLES):
            return special[role](name, node)
        if self.own_model and role in ("optimizer", "parameters", "scheduler"):
            return LATE
        if self.values.parts and role in ROLES:
            return self.of_a_part(role, name, node)
        if role == "total_steps" and "range_steps" in node.uses:
            role = "turns"
        try:
            return self.made(role, name, node)
        except KeyError:
            if is_untouched(node):
                return self.values.simple("ignored")
            raise Unbound(
                name, f"looks like {role.replace('_', ' ')}, which this workload has not"
            ) from None

    def made(self, role: str, name: str, node: Node) -> Any:
        """What needs nothing but its role, once there is a model; ``KeyError`` for others."""
        if role == "optimizer":
            return self.values.one_of(self.teams.member(node))
        if role == "scheduler":
            return self.values.scheduler(self.teams.alike([name, *node.all_names()]))
        return self.values.simple(role)

    def of_a_part(self, role: str, name: str, node: Node) -> Any:
        """The object for a role that each of several networks has; names tell which."""
        judges = any("output" in a.tags for call in node.calls for a in call.arguments())
        return self.values.parts.of(role, [name, *node.all_names()], judges=judges)

    # ------------------------------------------------------------------------------------- data

    def publish(self, batch: Batch, index: int) -> None:
        """Rebind the names that change with every batch."""
        self.handed += 1
        if self.published:
            self._following.handed(batch)
            self._rebind(batch)

    def _rebind(self, batch: Batch) -> None:
        parts = leaves(batch)
        for name, part in self.published.items():
            setattr(self.module, name, parts[part])

    def loader(self, form: Form, name: str = "train") -> Loader:
        """The loader that yields batches of this form."""
        found = self._loaders.get((name, form))
        if found is None:
            found = Loader.over(self.values.batches, form, self.on_batch, self.publish, name)
            self._loaders[name, form] = found
        return found

    def form(self, element: Node | None) -> Form:
        """Form of a batch that is used like ``element``."""
        return batches.PAIR if element is None else batches.form(element, self._input_name)

    def _loader(self, name: str, node: Node) -> Loader:
        return self.loader(self.form(node.element))

    def _validation(self, name: str, node: Node) -> Loader:
        return self.loader(self.form(node.element), "validation")

    def _dataset(self, name: str, node: Node) -> Any:
        named = hints.first([name], ("validation",))
        sample = node.parts.get(("batch", 0)) or node.parts.get(("[]", "*"))
        return self.loader(self.form(sample), named or "train").dataset

    def _batch(self, name: str, node: Node) -> Any:
        raise Unbound(name, "is a batch that no loop yields")

    def _moment(self, name: str, node: Node) -> Any:
        named = hints.first([name], tuple(PER_BATCH))
        if named is not None:  # a loss of one's own multiplies targets as if they were outputs
            return self.of(named, name, node)
        raise Unbound(name, "belongs to one batch, and no loop yields it")

    def _choice(self, name: str, node: Node) -> str:
        return self.choices.of(node)

    def _criterion(self, name: str, node: Node) -> Any:
        single = any("per_sample" in call.result.uses for call in node.calls)
        if single:
            self.note(name, "one loss a sample, because it is masked afterwards")
            return self.values.criterion_of_each
        return criteria.fitted(name, node, self.paths, self.values)

    def _lightning_model(self, name: str, node: Node) -> Any:
        return LATE

    def _engine(self, name: str, node: Node) -> Any:
        if node.uses & OF_A_FABRIC or hints.first([name], ("fabric",)):
            return fabric.unseen(self.values.world_size)
        if not node.uses & {".prepare", ".accumulate"}:
            raise Unbound(name, "needs a framework that drives the loop (accelerate, deepspeed)")
        steps = int(self.values.number("accumulation")) if ".accumulate" in node.uses else 1
        return huggingface.accelerator(name, steps, prepares=".prepare" in node.uses)

    def _one_of_several(self, name: str, node: Node) -> Any:
        """``optimizers`` or ``schedulers``: one, where one model is trained that is ours."""
        if self.values.parts or self.own_model:
            raise Unbound(name, "does not tell what each of them is for")
        role = (self.judge.role(node) or "").removesuffix("s")
        numbers = {key: part for key, part in node.items().items() if isinstance(key, int)}
        places = range(max(numbers, default=0) + 1)
        found = [self.made(role, name, numbers.get(i, node)) for i in places]
        return {role: found[0]} if node.uses & {".values", ".items"} else found

    def _is_made_elsewhere(self, name: str, part: Node) -> bool:
        """Whether it is no more than the settings of something: ``instantiate(cfg.model)``."""
        settings = part.uses == {"called with"} and hints.suggests(name, "settings")
        return settings and self.judge.role(part) in ("model", "optimizer", "criterion", "loader")

    def _counts_elsewhere(self, node: Node, key: str, part: Node) -> bool:
        """Whether updates depend on a counter that nobody here moves."""
        moved = "augmented" in part.uses or f"={key}" in node.uses
        decides = bool(part.uses & {"guards_step", "mod_left"})
        return decides and not moved and self.judge.role(part) == "step"

    def _namespace(self, name: str, node: Node) -> Any:
        made: dict[str, Any] = {}
        pairs = {
            **node.attributes(),
            **{k: v for k, v in node.items().items() if isinstance(k, str)},
        }
        for key, part in pairs.items():
            if key in ("*", "get", "items", "keys"):
                continue
            if self._is_made_elsewhere(name, part):
                made[key] = self.values.simple("ignored")
                continue
            if self._counts_elsewhere(node, key, part):
                raise Unbound(f"{name}.{key}", "counts batches somewhere else")
            part.names |= {key, name} if ".step" in part.uses else {key}
            found = self.free(f"{name}.{key}" if key not in self.published else key, part)
            if found is LATE:
                raise Unbound(f"{name}.{key}", "can only be made by the program itself")
            made[key] = found
        return Namespace(**made)


def _said(role: str, found: Any) -> str:
    """What people are told of a role: also the form of batches, and what wraps a model."""
    if isinstance(found, Loader):
        return f"{role} of {found.form}"
    return f"{role} in DDP" if role == "model" and hasattr(found, "no_sync") else role
