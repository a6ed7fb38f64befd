"""Bind a program, and run it."""

import ast
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from harness.domain.branch import Branches
from harness.domain.event import BUILDS_MODELS
from harness.sandbox.binding import rewrite
from harness.sandbox.binding.analysis import Analysis
from harness.sandbox.binding.branches import marks
from harness.sandbox.binding.branches.untaken import untaken
from harness.sandbox.binding.entry import Entries
from harness.sandbox.binding.flow.definitions import Parameter
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.frameworks import hooks, huggingface, packages
from harness.sandbox.binding.frameworks.fitting import Fitting
from harness.sandbox.binding.frameworks.trainer import Training
from harness.sandbox.binding.machine import arguments, cuda, distributed, mains, unread
from harness.sandbox.binding.machine.devices import device, device_context, generator
from harness.sandbox.binding.machine.inert import Inert
from harness.sandbox.binding.machine.spellings import install_spellings
from harness.sandbox.binding.objects.enough import Patience
from harness.sandbox.binding.objects.loaders import OnBatch
from harness.sandbox.binding.objects.parts import ROLES
from harness.sandbox.binding.objects.values import Values
from harness.sandbox.binding.replaced import losses, standins, unfinished
from harness.sandbox.binding.replaced.own_models import OwnModels, Track
from harness.sandbox.binding.resolver import LATE, Resolver
from harness.sandbox.binding.starting import Call, Start
from harness.sandbox.binding.turns import MOMENT, Turns, note
from harness.sandbox.binding.unbound import Unbound, no_input, parsed
from harness.syntax import walk
from harness.workloads import Workload

FILENAME = "<candidate>"
"""File name of the program's code, as tracebacks show it."""

MODULE = "candidate"


@dataclass(frozen=True, slots=True)
class Bound:
    """A program that is ready to run, with its namespace."""

    module: types.ModuleType
    """Its namespace; ``__name__`` is ``__main__``, so that guarded calls run."""
    code: types.CodeType
    """The program, compiled."""
    notes: tuple[str, ...]
    """What was mapped or replaced, in words."""
    calls: tuple[Call, ...]
    """The calls to make after its top level has run."""
    model: nn.Module
    """The workload's model, not wrapped."""
    optimizers: tuple[torch.optim.Optimizer, ...]
    """The workload's optimizers that names were bound to."""
    starts: tuple[Start, ...]
    """Functions that make these calls."""
    source: str
    """The program as it runs."""
    journal: list[str]
    """``notes``, and what is added to them while the program runs."""
    untrue: Callable[[], str | None]
    """After the run: which model's gradients were not the derivatives of its outputs, if any."""
    patience: Patience
    """Ends a run that trains far longer than needed."""
    untaken: Callable[[], Branches]
    """After the run: the branches that it did not enter."""


def bind(  # noqa: PLR0913 - each is a fact of one run
    program: str,
    workload: Workload,
    *,
    rank: int,
    world_size: int,
    on_batch: OnBatch,
    tracked: Track,
    own_data: bool = False,
    as_written: bool = False,
) -> Bound:
    """Give every free name of ``program`` an object. Raises ``Unbound`` for a name that gets none.

    ``own_data``: whether data that the program draws at random stays as it is. ``as_written``: whether
    its own modules stay, as parts of a model that it puts together itself.
    """
    install_spellings()
    binding = _Binding(program, workload, rank, world_size, on_batch, tracked)
    binding.own_models.stay = as_written
    if not own_data:
        standins.take_place(binding.analysis, binding.resolver, binding.changes, binding.module)
    return binding.bound()


def run(bound: Bound) -> None:
    """Execute the program's top level, then make the calls that it leaves to its reader."""
    with bound.patience.counting():
        exec(bound.code, vars(bound.module))
        trained = bound.patience.updates > 0
        for start in bound.starts:
            if start.guessed and trained:
                bound.journal.append(f"{start.call.function} is not called: training had begun")
            else:
                start.run()


def _prepared(program: str) -> tuple[ast.Module, set[str], list[str]]:
    """The tree without what is not here, names that do nothing, and what was left out."""
    notes: list[str] = []
    tree = mains.take_part(hooks.gather(parsed(program, FILENAME)))
    tree = unread.leave_out(tree, notes)
    imports = packages.examine(tree)
    if imports.refused:
        name, reason = next(iter(imports.refused.items()))
        raise Unbound(name, reason)
    tree = rewrite.rewrite(tree, rewrite.Changes(removed=imports.removed))
    return tree, imports.inert, [*notes, *imports.notes]


class _Binding:
    def __init__(
        self,
        program: str,
        workload: Workload,
        rank: int,
        world_size: int,
        on_batch: OnBatch,
        tracked: Track,
    ) -> None:
        self.track = tracked
        self.values = Values(workload, rank, world_size)
        self.module = types.ModuleType(MODULE)
        self.module.__dict__["__name__"] = "__main__"
        self.module.__dict__["__file__"] = FILENAME
        self.tree, self.inert, noted = _prepared(program)
        parts = self.values.parts
        self.analysis = Analysis(self.tree, world_size, parts.is_network if parts else None)
        wanted = workload.parameters.epochs * workload.parameters.batches
        self.patience = Patience(self.tree, FILENAME, wanted, world_size)
        self.resolver = Resolver(
            self.values,
            self.analysis.told(),
            self.module,
            self.patience.before(on_batch),
        )
        self.resolver.notes += noted
        paths = (path for path, _ in self.analysis.reader.library_calls)
        self.values.for_optimizers(p.rpartition(".")[2] for p in paths if "torch.optim" in p)
        self.changes = rewrite.Changes()
        self.replaced: set[str] = set()
        self.fitting = Fitting(self.analysis, self.resolver, self.module)
        self.training = Training(self.analysis, self.resolver)
        self.own_models = OwnModels(self.analysis, self.resolver, self.fitting, tracked)
        self.resolver.lightning_module = lambda: self.own_models.built(
            self.fitting.model(), "model"
        )

    def bound(self) -> Bound:
        self._environment()
        entries = Entries(self.analysis, self.resolver, self.module)
        self._names(entries)
        unfinished.complete(self.analysis.reader.classes, self.resolver, self.changes, self.module)
        starts = self.fitting.starts(fitted=not entries.unfitted())
        starts += self.training.starts()
        starts += entries.starts() if entries.needed() else []
        self._own_code()
        for name, part in self.values.parts.given.items():
            self.track(part, name, part=True)
        if not self.values.parts:
            self.track(self.values.model, "model")
        if self.analysis.constructors and self.values.world_size == 1:
            self.resolver.notes.append(BUILDS_MODELS)
        tree = rewrite.rewrite(self.tree, self.changes)
        source = ast.unparse(tree)
        marked = marks.marked(tree)
        return Bound(
            module=self.module,
            code=marked.compiled(FILENAME),
            notes=tuple(self.resolver.notes),
            calls=tuple(start.call for start in starts),
            model=self.values.model,
            optimizers=self.values.optimizers,
            starts=tuple(starts),
            source=source,
            journal=self.resolver.notes,
            untrue=lambda: self.own_models.untrue,
            patience=self.patience,
            untaken=lambda: untaken(marked),
        )

    def _environment(self) -> None:
        values = self.values
        sys.modules[MODULE] = sys.modules["__main__"] = self.module
        sys.argv = ["candidate.py"]
        distributed.environment(values.rank, values.world_size)
        cuda.told(local_rank=values.rank, count=values.world_size)
        cuda.clock_of(self.module)
        arguments.supplied_by(self.resolver.named)
        if self.analysis.needs_group:
            distributed.ensure_group()
        vars(self.module)["input"] = no_input
        packages.put_first(self.tree, vars(self.module))
        for name in self.inert:  # also those that are no free names: an import that may fail
            vars(self.module)[name] = Inert()

    def _names(self, entries: Entries) -> None:
        """Bind every free name, those apart that belong to one batch."""
        moment: dict[str, str] = {}
        for name, node in self.analysis.reader.free.items():
            role = self.resolver.judge.role(node)
            if name in self.analysis.library_names:
                vars(self.module)[name] = self.analysis.library_object(name)
                path = self.analysis.library_names[name]
                self.resolver.notes.append(f"{name}: library {path}")
            elif name in self.inert:
                continue
            elif self.analysis.fragment and role in MOMENT:
                moment[name] = str(role)
            elif name in self.analysis.reader.stubs:
                self._stub(name, node)
            elif role is not None or name not in self.analysis.reader.only_global:
                self._free(name, node)
        huggingface.prepare_what_is_expected(vars(self.module))
        if moment or self.analysis.observes:
            self._as_turns(moment, entries)

    def _free(self, name: str, node: Node) -> None:
        found = self.resolver.free(name, node)
        if found is LATE:
            self.changes.late[name] = self.analysis.late_index(name)
        else:
            vars(self.module)[name] = found

    def _stub(self, name: str, node: Node) -> None:
        """A definition without a body: replaced where something is expected of it, else left alone."""
        if self.resolver.judge.role(node) not in ("criterion", "factory", "model", "transform"):
            return
        try:
            found = self.resolver.free(name, node)
        except Unbound:
            return
        if found is not LATE and not isinstance(found, Inert):
            vars(self.module)[name] = found
            self.replaced.add(name)

    def _as_turns(self, moment: dict[str, str], entries: Entries) -> None:
        nodes = self.analysis.reader.free
        parameters = {n: Parameter(n, nodes[n], "either", default=False) for n in moment}
        wanted = entries.wanted(moment, parameters)
        starts = [rewrite.first_use(self.tree, name) for name in moment]
        if self.analysis.observes:
            starts.append(self.analysis.first_look())
        self.changes.turns_from = rewrite.with_clearing(self.tree, min(starts))
        vars(self.module)[rewrite.TURNS] = Turns(self.resolver, wanted)
        self.resolver.notes.append(note(wanted))

    def _own_code(self) -> None:
        """What the program calls and builds itself, where that has to be watched or mapped."""
        changes, reader = self.changes, self.analysis.reader
        vars(self.module).update({
            rewrite.DEVICE: device, rewrite.CONTEXT: device_context, rewrite.GENERATOR: generator,
            rewrite.TRACKED: self.own_models.built, rewrite.LATER: self._later,
        })  # fmt: skip
        contexts = {
            id(item.context_expr)
            for node in walk(self.tree)
            if isinstance(node, ast.With)
            for item in node.items
        }
        for path, call in reader.library_calls:
            if path == "torch.device" and call.where is not None:
                inside = id(call.where) in contexts
                changes.renamed[id(call.where)] = rewrite.CONTEXT if inside else rewrite.DEVICE
            elif path == "torch.Generator" and call.where is not None:
                changes.renamed[id(call.where)] = rewrite.GENERATOR
        if self.analysis.uses_workload_data:
            losses.take_place(reader.library_calls, self.resolver, changes, self.module)
        for where, name in self.analysis.constructors:
            changes.tracked[id(where)] = name
        for statement in self.tree.body:
            if getattr(statement, "name", None) in self.replaced:
                changes.removed.add(id(statement))

    def _later(self, name: str) -> Any:
        """A name whose object needs what the program has built by now."""
        role = self.resolver.judge.role(self.analysis.reader.free[name])
        if role == "lightning_model":
            return self.own_models.built(self.fitting.model(), name)
        if self.values.parts and role in ROLES:
            return self.resolver.of_a_part(role, name, self.analysis.reader.free[name])
        return self.resolver.made(str(role), name, self.analysis.reader.free[name])
