"""Data that a program draws at random for lack of the user's: the workload's data replaces it.

A reader puts their own data there. Ours is loud or quiet, as each probe wants it, and its gradients are
known sample by sample. A model that does not take it was made for the drawn data and goes with it,
unless it does more than compute: such a model may be what the program is about.
"""

import ast
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch import nn

from harness.domain.event import DATA_REPLACED
from harness.sandbox.binding import rewrite
from harness.sandbox.binding.analysis import Analysis
from harness.sandbox.binding.flow.effects import BACKWARD, STEP, called, loops
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.objects.loaders import Drawn, Loader
from harness.sandbox.binding.resolver import Resolver
from harness.sandbox.binding.roles.forms import Form, Leaf, Part, Row, Table, Thing
from harness.sandbox.binding.unbound import Unbound
from harness.syntax import walk
from harness.workloads import Workload

DRAWS = frozenset({
    "torch.randn", "torch.rand", "torch.randint", "torch.zeros", "torch.ones", "torch.randn_like",
    "torch.rand_like", "torch.normal",
})  # fmt: skip
"""Functions that make tensors from nothing."""

MORE_THAN_COMPUTING = frozenset({
    "detach", "no_grad", "inference_mode", "set_grad_enabled", "checkpoint", "checkpoint_sequential",
    "register_hook", "register_forward_hook", "register_full_backward_hook", "apply", "backward",
    "data", "grad", "requires_grad",
})  # fmt: skip
"""Names in a model's class that indicate that it does more than compute outputs."""

CLOCKS = frozenset({"perf_counter", "time", "monotonic", "Event", "Timer", "timeit", "profile"})
"""Calls that indicate a program that measures time; its data stays, since it measures its own work."""

FOREIGN_LOSSES = frozenset({"BCELoss", "binary_cross_entropy", "NLLLoss", "nll_loss"})
"""Losses whose targets no workload has."""


MASKED_ROWS = 64
"""How many rows of a program's own data are searched for masked entries."""

DEEP = 10
"""A workload with at least so many layers is about its model, which nothing may replace."""


@dataclass(slots=True)
class StandIns:
    """Expressions whose values the workload's data replaces."""

    loaders: list[tuple[ast.expr, Node | Form]] = field(default_factory=list)
    """Whole loaders: an expression, and the node of its elements."""
    draws: dict[int, Part] = field(default_factory=dict)
    """Calls that draw one part of one batch, by identity."""

    def __bool__(self) -> bool:
        """Whether there is anything to replace."""
        return bool(self.loaders or self.draws)


def find(analysis: Analysis, workload: Workload) -> StandIns:
    """The random data that a program trains on; empty where the program is about its model or about
    time.
    """
    if _is_the_point(analysis) or getattr(workload.parameters, "depth", 0) >= DEEP:
        return StandIns()
    calls = [c for p, c in analysis.reader.library_calls if p in DRAWS and c.where is not None]
    given = _given_to_models(analysis)
    parts = {id(call.where): _part(call.result, given) for call in calls}
    drawn = {place: part for place, part in parts.items() if part is not None}
    found = StandIns([*_dataloaders(analysis), *_lists(analysis.tree, drawn)])
    inside = {id(node) for expression, _ in found.loaders for node in walk(expression)}
    again = _repeated(analysis) - inside
    draws = {place: part for place, part in drawn.items() if place in again}
    if not found and {"input", "target"} <= set(draws.values()):
        found.draws = draws
    return found


def take_place(
    analysis: Analysis, resolver: Resolver, changes: rewrite.Changes, module: ModuleType
) -> None:
    """Replace random data by the workload's."""
    found = find(analysis, resolver.values.workload)
    if not found:
        return
    for number, (expression, element) in enumerate(found.loaders, 1):
        name = f"drawn_data_{number}"
        known = element if isinstance(element, Form) else resolver.form(element)
        instead: ast.expr = ast.Name(name, ast.Load())
        loader = vars(module)[name] = resolver.loader(known)
        if "mask" in known.parts():
            vars(module)[name] = functools.partial(_instead_of, loader, known)
            own = ast.Lambda(ast.arguments([], [], None, [], [], None, []), expression)
            instead = ast.Call(instead, [own], [])
        changes.replaced[id(expression)] = instead
        resolver.notes.append(f"{name}: loader of {known}")
    for place, part in found.draws.items():
        call = ast.Call(ast.Name(rewrite.DRAWN, ast.Load()), [ast.Constant(part)], [])
        changes.replaced[place] = call
    vars(module)[rewrite.DRAWN] = Drawn(resolver.loader(Row((Leaf("input"), Leaf("target")))))
    resolver.notes.append(DATA_REPLACED)
    analysis.uses_workload_data = True


def _instead_of(loader: Loader, form: Form, own: Callable[[], Any]) -> Loader:
    """The workload's loader, unless the masks that the program's own gives mark nothing.

    Ours are right whatever makes the program's, so a mask of ones alone would be gone with its data.
    Raises ``Unbound`` for such a mask.
    """
    with torch.random.fork_rng(devices=[]):
        made = own()
        dataset, collate = made.dataset, made.collate_fn
        rows = [dataset[place] for place in range(min(MASKED_ROWS, len(dataset)))]
        masks = list(_masks(form, collate(rows)))
    if all(bool((mask == mask.flatten()[0]).all()) for mask in masks if mask.numel()):
        raise Unbound("mask", "is the same everywhere in the data that the program draws")
    return loader


def _masks(form: Form, batch: Any) -> Iterator[torch.Tensor]:
    match form:
        case Leaf(part="mask"):
            yield torch.as_tensor(batch)
        case Row(forms):
            for inner, value in zip(forms, batch, strict=False):
                yield from _masks(inner, value)
        case Table(forms) | Thing(forms):
            for key, inner in forms:
                yield from _masks(
                    inner, batch[key] if isinstance(form, Table) else getattr(batch, key)
                )


def _is_the_point(analysis: Analysis) -> bool:
    """Whether a program is about its own model, about time, or about other data than any of ours."""
    trains = {STEP, BACKWARD} <= analysis.graph.everything
    if not trains or analysis.uses_workload_data or analysis.trainers or analysis.lightning:
        return True
    lasts = {p.removesuffix("()").rpartition(".")[2] for p, _ in analysis.reader.library_calls}
    own = [node for cls in analysis.reader.classes if cls.module for node in walk(cls.tree)]
    models = [node for where, node in analysis.reader.built if _is_built(analysis, where)]
    return (
        bool(lasts & (CLOCKS | FOREIGN_LOSSES))
        or _does_more(own)
        or any(_taken_apart(model) for model in models)
    )


def _is_built(analysis: Analysis, where: ast.Call) -> bool:
    return any(where is constructor for constructor, _ in analysis.constructors)


def _does_more(nodes: list[ast.AST]) -> bool:
    """Whether a model does more than compute: it cuts gradients off, or sets its own parameters."""
    names = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    names |= {n.id for n in nodes if isinstance(n, ast.Name)}
    in_place = {name for name in names if name.endswith("_") and not name.startswith("_")}
    return bool(in_place or names & MORE_THAN_COMPUTING)


def _taken_apart(model: Node) -> bool:
    """Whether the program picks parts of it: they are not in another model."""
    nodes = [*model.downstream()]
    fields = {name for node in nodes for name in node.attributes()}
    return any(node.items() or "sliced" in node.uses for node in nodes) or any(
        not hasattr(nn.Module, name) and name not in ("module", "no_sync", "training")
        for name in fields
    )


def _given_to_models(analysis: Analysis) -> set[int]:
    """Nodes, by identity, whose values models are called with."""
    found: set[int] = set()
    for call in analysis.reader.graph.calls:
        path = call.callee.library
        layers = path.startswith("torch.nn.") and path.endswith("()") and "Loss" not in path
        if call.args and not call.inner and (layers or "model_call" in call.callee.uses):
            found |= {id(node) for node in call.args[0].upstream()}
    return found


def _part(drawn: Node, given: set[int]) -> Part | None:
    """What a tensor is for."""
    if id(drawn) in given:
        return "input"
    return "target" if "loss_target" in drawn.uses else None


# ---------------------------------------------------------------------------------- whole passes


def _dataloaders(analysis: Analysis) -> Iterator[tuple[ast.expr, Node]]:
    for path, call in analysis.reader.library_calls:
        element = call.result.element
        if call.where is None or element is None or not path.endswith(".DataLoader"):
            continue
        if _enters(element):
            yield call.where, element


def _enters(element: Node) -> bool:
    """Whether a batch, or a part of it, is given to a model."""
    parts = [element, *element.parts.values()]
    return any(part.uses & {"model_arg", "model_spread"} for part in parts)


def _lists(tree: ast.Module, drawn: dict[int, Part]) -> Iterator[tuple[ast.expr, Form]]:
    """Lists of pairs of which both are drawn."""
    for node in walk(tree):
        form = _row(_first_row(node), drawn)
        if isinstance(node, ast.expr) and {"input", "target"} <= form.parts():
            yield node, form


def _first_row(node: ast.AST) -> ast.Tuple | None:
    rows: list[ast.expr] = []
    if isinstance(node, ast.ListComp) and len(node.generators) == 1:
        rows = [node.elt]
    elif isinstance(node, ast.List):
        rows = node.elts
    same = bool(rows) and all(isinstance(row, ast.Tuple) for row in rows)
    return rows[0] if same and isinstance(rows[0], ast.Tuple) else None


def _row(row: ast.Tuple | None, drawn: dict[int, Part]) -> Row:
    leaves: list[Form] = []
    for item in row.elts if row is not None else ():
        parts = [drawn[id(node)] for node in walk(item) if id(node) in drawn]
        leaves.append(Leaf(parts[0] if parts else "nothing"))
    return Row(tuple(leaves))


# --------------------------------------------------------------------------------- batch by batch


def _repeated(analysis: Analysis) -> set[int]:
    """Expressions that run anew for every batch: in a loop that trains, and in what it calls."""
    bodies = {
        function.name: function.tree
        for function in analysis.reader.functions
        if not isinstance(function.tree, ast.Lambda)
    }
    every = [loop for body in (analysis.tree, *bodies.values()) for loop in loops(body.body)]
    waiting: list[ast.AST] = [
        part
        for loop in every
        if BACKWARD in analysis.reader.effects.of(loop.body)
        for part in (*loop.body, *([loop.iter] if hasattr(loop, "iter") else []))
    ]
    found: set[int] = set()
    while waiting:
        part = waiting.pop()
        if id(part) not in found:
            found |= {id(node) for node in walk(part)}
            waiting += [bodies[name] for name in called([part]) if name in bodies]
    return found
