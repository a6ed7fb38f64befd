"""Which functions of a program take part in training, judged by the calls that they contain."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from harness.extraction.by_hand import updates_by_hand
from harness.sandbox.binding.flow import hints
from harness.syntax import children, walk

STEP = "step"
BACKWARD = "backward"
FIT = "fit"
GRADIENTS = "gradients"
"""Calls that read or clip gradients, so that something has to compute them before."""

CLIPS = frozenset({
    "clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
})  # fmt: skip

MADE = frozenset({"__init__", "__enter__", "__exit__"})
"""Methods that run when an instance is made, or entered by ``with``."""

MARKS = {"step": STEP, "backward": BACKWARD, "manual_backward": BACKWARD, "fit": FIT}

Body = Iterable[ast.AST]


@dataclass(frozen=True, slots=True)
class Effects:
    """What functions do, directly or through other functions of the program."""

    functions: dict[str, frozenset[str]]
    """By function or method name."""
    by_hand: frozenset[int] = frozenset()
    """Identities of the places where parameters are changed without an optimizer."""
    marks: dict[str, str] = field(default_factory=lambda: MARKS)
    """What a call of each of these names does."""

    def of(self, body: Body) -> frozenset[str]:
        """Effects of statements, those of nested definitions left out."""
        found: set[str] = set()
        for name in called(body):
            found |= self.functions.get(name, frozenset())
            if name in self.marks:
                found.add(self.marks[name])
        if self.steps_by_hand(body):
            found.add(STEP)
        return frozenset(found)

    def steps_by_hand(self, body: Body) -> bool:
        """Whether statements themselves change parameters, outside nested definitions."""
        return bool(self.by_hand) and any(id(node) in self.by_hand for node in _outside(body))


def effects(tree: ast.Module) -> Effects:
    """Close every function's effects over the functions that it calls by name."""
    definitions: dict[str, list[ast.AST]] = {}
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            definitions.setdefault(node.name, []).extend(node.body)
        elif isinstance(node, ast.ClassDef):
            run = (m for m in node.body if isinstance(m, ast.FunctionDef) and m.name in MADE)
            definitions.setdefault(node.name, []).extend(s for m in run for s in m.body)
    calls = {name: called(body) for name, body in definitions.items()}
    own = Effects({}, frozenset(map(id, updates_by_hand(tree))), _marks(tree))
    found = {name: {*own.of(body)} for name, body in definitions.items()}
    changed = True
    while changed:
        changed = False
        for name, names in calls.items():
            for callee in names & found.keys():
                if not found[callee] <= found[name]:
                    found[name] |= found[callee]
                    changed = True
    return replace(own, functions={name: frozenset(marks) for name, marks in found.items()})


def _marks(tree: ast.Module) -> dict[str, str]:
    """Where nothing else goes back, ``torch.autograd.grad`` does."""
    goes_back = any(
        isinstance(n, ast.Attribute) and MARKS.get(n.attr) == BACKWARD for n in walk(tree)
    )
    return MARKS if goes_back else {**MARKS, "grad": BACKWARD}


def _outside(body: Body) -> Iterator[ast.AST]:
    """Everything in statements but nested definitions."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield node
        waiting.extend(children(node))


def called(body: Body) -> set[str]:
    """Names and attribute names that are called (or handed on), outside nested definitions."""
    return {name for node in _outside(body) if isinstance(node, ast.Call) for name in _callee(node)}


def _callee(node: ast.Call) -> set[str]:
    names = {
        a.id for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Name)
    }
    if isinstance(node.func, ast.Name):
        names.add(node.func.id)
        if len(node.args) > 1 and hints.suggests(node.func.id, "scaler"):
            names |= {STEP, BACKWARD}  # loss_scaler(loss, optimizer, ...)
    elif isinstance(node.func, ast.Attribute) and (
        node.func.attr not in MODES or _is_self(node.func)
    ):
        names.add(node.func.attr)
    return names


def touches_gradients(body: Body) -> bool:
    """Whether statements themselves read or clip gradients, outside nested definitions."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "grad")
        or (isinstance(node, ast.Call) and bool(_callee(node) & CLIPS))
        for node in _outside(body)
    )


MODES = frozenset({"train", "eval"})
"""Methods that every model has, and many trainers too."""


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def loops(body: Body) -> list[ast.For | ast.While | ast.AsyncFor]:
    """Loops in statements, outside nested definitions, outermost first."""
    found: list[ast.For | ast.While | ast.AsyncFor] = []
    waiting = list(body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            found.append(node)
        waiting.extend(children(node))
    return found
