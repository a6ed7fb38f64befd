"""Objects for the free names and parameters of one program."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from torch import nn

from harness.sandbox.binding import batches, hints, huggingface, models, reporting
from harness.sandbox.binding.definitions import Instance
from harness.sandbox.binding.forms import Form, Leaf, Part
from harness.sandbox.binding.graph import Call, Node
from harness.sandbox.binding.loaders import Loader, OnBatch, leaves
from harness.sandbox.binding.makers import LATE, Makers
from harness.sandbox.binding.parts import ROLES
from harness.sandbox.binding.plain import BY_NAME
from harness.sandbox.binding.roles import Judge, is_untouched
from harness.sandbox.binding.unbound import Unbound
from harness.sandbox.binding.values import Namespace, Values
from harness.workloads import Batch

__all__ = ["LATE", "PER_BATCH", "Resolver"]

PER_BATCH: dict[str, Part] = {
    "target": "target",
    "mask": "mask",
    "input": "input",
    "count": "count",
}
"""Roles of names that change with every batch, and the part of the batch that they hold."""


class Resolver(Makers):
    """Turns roles into objects; remembers what it mapped."""

    def __init__(
        self,
        values: Values,
        judge: Judge,
        module: ModuleType,
        on_batch: OnBatch,
        *,
        wrap: bool,
        own_model: bool,
    ) -> None:
        """``wrap``: free models come in DDP; ``own_model``: the program builds its model itself."""
        self.values = values
        self.judge = judge
        self.module = module
        self.on_batch = on_batch
        self.wrap = wrap
        self.own_model = own_model
        self.published: dict[str, Part] = {}
        self.notes: list[str] = []
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

    def _is_data(self, node: Node) -> bool:
        return bool(node.uses & {"iter", "loss_target"})

    def note(self, name: str, role: str) -> None:
        """Say what ``name`` was taken for."""
        self.notes.append(f"{name}: {role.replace('_', ' ')}")

    def named(self, name: str) -> Any:
        """A plain value for nothing but a name: a required argument of a command line."""
        kind = hints.first([name], BY_NAME)
        if kind is None:
            return "data" if hints.first([name], ("input", "loader")) else self._unnamed(name)
        self.note(name, kind)
        return self.values.number(kind)

    def _unnamed(self, name: str) -> Any:
        raise Unbound(name, "is a required argument, and its name does not tell what it is")

    def of(self, role: str, name: str, node: Node) -> Any:
        """The object for ``role``."""
        special: dict[str, Callable[[str, Node], Any]] = {
            "loader": self._loader, "validation": self._validation, "dataset": self._dataset,
            "model": self._model, "lightning_model": self._lightning_model, "batch": self._batch,
            "criterion": self._criterion, "factory": self.maker, "namespace": self._namespace,
            "mapping": self._namespace, "engine": self._engine, "loss": self._moment,
            "output": self._moment, "logger": self.reporter,
            "figure": reporting.figure,
        }  # fmt: skip
        if role in PER_BATCH:
            self.published[name] = PER_BATCH[role]
            return leaves(self.values.batches[0])[PER_BATCH[role]]
        if role in special and not (self.values.parts and role in ROLES):
            return special[role](name, node)
        if self.own_model and role in ("optimizer", "parameters", "scheduler"):
            return LATE
        if self.values.parts and role in ROLES:
            return self.of_a_part(role, name, node)
        if role == "total_steps" and "range_steps" in node.uses:
            role = "turns"
        try:
            return self.values.simple(role)
        except KeyError:
            if is_untouched(node):
                return self.values.simple("ignored")
            raise Unbound(
                name, f"looks like {role.replace('_', ' ')}, which this workload has not"
            ) from None

    def of_a_part(self, role: str, name: str, node: Node) -> Any:
        """The object for a role that each of several networks has; names tell which."""
        judges = any("output" in a.tags for call in node.calls for a in call.arguments())
        return self.values.parts.of(role, [name, *node.all_names()], judges=judges)

    # ------------------------------------------------------------------------------------- data

    def publish(self, batch: Batch, index: int) -> None:
        """Rebind the names that change with every batch."""
        if self.published:
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
        return Leaf("input") if element is None else batches.form(element, self._input_name)

    def _loader(self, name: str, node: Node) -> Loader:
        return self.loader(self.form(node.element))

    def _validation(self, name: str, node: Node) -> Loader:
        return self.loader(self.form(node.element), "validation")

    def _dataset(self, name: str, node: Node) -> Any:
        named = hints.first([name], ("validation",))
        return self.loader(self.form(node.parts.get(("batch", 0))), named or "train").dataset

    def _batch(self, name: str, node: Node) -> Any:
        raise Unbound(name, "is a batch that no loop yields")

    def _moment(self, name: str, node: Node) -> Any:
        named = hints.first([name], tuple(PER_BATCH))
        if named is not None:  # a loss of one's own multiplies targets as if they were outputs
            return self.of(named, name, node)
        raise Unbound(name, "belongs to one batch, and no loop yields it")

    # ----------------------------------------------------------------------------------- models

    def _model(self, name: str, node: Node) -> nn.Module:
        self.fit_model(name, node)
        self.values.another_model()
        return self.values.the_model(wrap=self.wrap)

    def fit_model(self, name: str, node: Node) -> None:
        """Let the workload's model have what the program uses of it."""
        self.prepare_model([node])
        for field in self._fields(node):
            if hasattr(self.values.model, field):
                continue
            part = node.attributes()[field]
            if self.judge.role(part) == "parameters":
                object.__setattr__(self.values.model, field, [*self.values.model.parameters()])
                continue
            if not part.calls:
                raise Unbound(f"{name}.{field}", "does not exist on the workload's model")
            if any(self._predicts(call) for call in part.calls):
                self.note(f"{name}.{field}", "what the model computes")
                models.predicts_by(self.values.model, field)
                continue
            object.__setattr__(self.values.model, field, self.maker(f"{name}.{field}", part))

    def _predicts(self, call: Call) -> bool:
        """Whether a method of the model takes a batch and returns what a loss compares."""
        given = set[str]().union(*(a.tags for a in call.arguments()))
        batch = "data" in given and not given & {"made", "output"}
        return batch and self.judge.role(call.result) == "output"

    def _fields(self, node: Node) -> list[str]:
        wrappers = (t for n in node.downstream() for t in n.targets if isinstance(t, Instance))
        kept = [node, *(wrapper.cls.instance for wrapper in wrappers)]
        written = {use[1:] for n in kept for use in n.uses if use.startswith("=")}
        known = {"module", "require_backward_grad_sync", "device", "config", "_orig_mod"}
        return [a for a in node.attributes() if a not in written | known and not hasattr(nn.Module, a)
                and a not in ("no_sync", "join", "register_comm_hook", "training")]  # fmt: skip

    def prepare_model(self, nodes: Iterable[Node]) -> None:
        """Let the workload's model be called as the program calls it."""
        calls = [call for node in nodes for call in node.calls]
        models.adapt(self.values.model, models.protocol(calls), self.values.criterion)

    def _criterion(self, name: str, node: Node) -> Any:
        single = any("per_sample" in call.result.uses for call in node.calls)
        if single:
            self.note(name, "one loss a sample, because it is masked afterwards")
        return self.values.criterion_of_each if single else self.values.criterion

    def _lightning_model(self, name: str, node: Node) -> Any:
        return LATE

    def _engine(self, name: str, node: Node) -> Any:
        if not node.uses & {".prepare", ".accumulate"}:
            raise Unbound(name, "needs a framework that drives the loop (accelerate, deepspeed)")
        steps = int(self.values.number("accumulation")) if ".accumulate" in node.uses else 1
        return huggingface.accelerator(name, steps, prepares=".prepare" in node.uses)

    def _namespace(self, name: str, node: Node) -> Any:
        made: dict[str, Any] = {}
        pairs = {
            **node.attributes(),
            **{k: v for k, v in node.items().items() if isinstance(k, str)},
        }
        for key, part in pairs.items():
            if key in ("*", "get", "items", "keys"):
                continue
            found = self.free(
                f"{name}.{key}" if key not in self.published else key, _called(part, key)
            )
            if found is LATE:
                raise Unbound(f"{name}.{key}", "can only be made by the program itself")
            made[key] = found
        return Namespace(**made)


def _said(role: str, found: Any) -> str:
    """What people are told of a role: also the form of batches, and what wraps a model."""
    if isinstance(found, Loader):
        return f"{role} of {found.form}"
    return f"{role} in DDP" if role == "model" and hasattr(found, "no_sync") else role


def _called(part: Node, key: str) -> Node:
    part.names.add(key)
    return part
