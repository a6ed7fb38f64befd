"""Calls of functions that a program defines and never calls, and the arguments for them."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from harness.sandbox.binding.flow.callgraph import CallGraph
from harness.sandbox.binding.flow.definitions import Class, Function, Instance, Parameter
from harness.sandbox.binding.flow.effects import BACKWARD, FIT, STEP, Effects, loops
from harness.sandbox.binding.roles.roles import Role
from harness.syntax import walk

ESSENTIAL = frozenset({"model", "loader", "optimizer", "criterion", "lightning_model", "scaler"})
"""Roles that get an object even where the parameter defaults to ``None``."""


COUNTS = frozenset({"accumulation", "steps_per_epoch", "total_steps", "epochs", "turns"})
"""Roles of numbers that a program needs in order to count."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make after the program's top level has run."""

    function: str
    """``train_one_epoch`` or ``Trainer.train_epoch``."""
    arguments: tuple[str, ...]
    """Names of the parameters that get an argument."""

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Start:
    """A call, ready to be made."""

    call: Call
    """The call, as it is described to people."""
    run: Callable[[], None]
    """Makes the call."""
    guessed: bool = False
    """Whether it is made because nothing is seen to call the function: a program that has made updates
    by then has called it in a way that reading does not show.
    """


@dataclass(frozen=True, slots=True)
class Made:
    """An object that the program itself makes at module level."""

    name: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class Own:
    """An instance of a class that the program defines and never instantiates."""

    name: str
    """Name of the class."""


def offered(functions: list[Function], tree: ast.Module, graph: CallGraph) -> list[Function]:
    """Those that are there for others to call. What a loop defines anew in every turn is there for
    that turn. Code that goes backward and works with an object (clears by it, adds to it) is the one
    to call its ``step``; where it does not, nothing steps. A method that goes backward and steps is a
    loop of its own.
    """
    of_a_turn = {id(node) for loop in loops(tree.body) for node in walk(loop)}
    at_work = graph.at_work()
    trains = {f for f in functions if FIT in graph.marks[f] or {BACKWARD, STEP} <= graph.marks[f]}
    return [
        f
        for f in functions
        if id(f.tree) not in of_a_turn and (f.owner not in at_work or f in trains)
    ]


def is_needed(function: Function, parameter: Parameter, role: Role | None) -> bool:
    """Whether a parameter gets an argument although it has a default: one that stands for nothing,
    if the role is essential or the function never asks whether it is there.
    """
    asked = parameter.node.uses & {"is", "guards", "guards_step"}
    if role in ESSENTIAL or (role == "namespace" and not asked):
        return defaults_to(function, parameter.name, None)
    if role in COUNTS and not asked:
        return defaults_to(function, parameter.name, None)
    return role == "max_norm" and defaults_to(function, parameter.name, None, 0)


def defaults_to(function: Function, name: str, *values: float | None) -> bool:
    """Whether the parameter's default is one of ``values``."""
    a = function.tree.args
    plain = [*a.posonlyargs, *a.args]
    pairs = [*zip(plain[len(plain) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += [(k, d) for k, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None]
    constants = {p.arg: d.value for p, d in pairs if isinstance(d, ast.Constant)}
    return name in constants and constants[name] in values


def is_one_step(function: Function, effects: Effects) -> bool:
    """Whether a function fetches its batch itself and makes a single update, so that it is called
    repeatedly.
    """
    body = [] if isinstance(function.tree, ast.Lambda) else function.tree.body
    fetches = any(isinstance(n, ast.Name) and n.id == "next" for n in walk(function.tree))
    goes_on = any(STEP in effects.of(loop.body) for loop in loops(body))
    return fetches and STEP in effects.of(body) and not goes_on


def own_scaler(parameter: Parameter) -> Class | None:
    """The class of the program's own that a parameter takes as a scaler."""
    found = (t.cls for t in parameter.node.targets if isinstance(t, Instance))
    return next((c for c in found if c.called_scaler), None)


_SHOWN_AS_WRONG = (
    "wrong", "bad", "bug", "broken", "naive", "incorrect", "before", "old", "dont", "unsafe",
)  # fmt: skip


def chosen(roots: list[Function]) -> list[Function]:
    """Of several, those not named as the wrong way, unless that leaves none."""
    good = [f for f in roots if not any(word in f.name.lower() for word in _SHOWN_AS_WRONG)]
    return good or roots
