"""Training that is defined and never started: functions are called, with what their parameters want."""

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from harness.sandbox.batches.loaders import Loader
from harness.sandbox.names.table import words
from harness.sandbox.unbound import Unbound
from harness.sandbox.world.lending import LATE, MOMENT, Lender
from harness.sandbox.world.reading import Function, UncalledFunction, optional, wanted
from harness.sandbox.world.spies import Spy
from harness.sandbox.world.turns import OF_A_TURN, Turns
from harness.sandbox.world.updates import UpdateReading
from harness.syntax import walk

ESSENTIAL = frozenset({
    "model", "loader", "optimizer", "criterion", "scaler", "max norm", "accumulation", "epochs",
    "total steps", "steps per epoch", "scheduler",
})  # fmt: skip
"""Roles that get an object although the parameter defaults to ``None``."""


OF_A_PASS = frozenset({"loader", "dataset", "source", "epochs", "total steps"})
"""Roles of what a function goes through: it makes more than one update by itself."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make after the program's top level has run."""

    function: str
    """``train_one_epoch`` or ``Trainer.train_epoch``."""
    arguments: tuple[str, ...]
    """Names of the parameters that get an argument."""

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"


EVERY = "every"
"""What a class that counts micro-batches calls how many of them make a window; elsewhere it is how often
something is logged.
"""


EPOCH = "epoch"
"""How a function is called that is one pass over the data, which its reader calls again and again."""


class Starter:
    """Calls the functions of one program that nothing calls."""

    def __init__(self, lender: Lender) -> None:
        """Nothing is called yet."""
        self._lender = lender
        self._module = lender.module
        self._updates = UpdateReading(lender.reading)
        self._making: list[ast.ClassDef] = []
        """Classes of which an object is being made."""
        self.guessed = ""
        """The name that stands for the only model that is shown, once that is made."""

    def calls(self) -> list[tuple[Call, Callable[[], None]]]:
        """Each call as people read it, and what makes it."""
        found: list[tuple[Call, Callable[[], None]]] = []
        for root in self._lender.reading.roots():
            names = tuple(a.arg for a in self._taken(root))
            found.append((Call(root.name, names), functools.partial(self._start, root)))
        return found

    def class_of(self, name: str) -> ast.ClassDef | None:
        """The class that the program shows of a model that it leaves to its reader: by the methods
        that it calls of it, else the only one that could be meant.
        """
        if self._lender.role(name) != "model":
            return None
        meant = self._class_meant(name)
        is_one = meant is not None and self._lender.reading.is_a(meant, "Module")
        return meant if is_one else self._only_one_for(name)

    def _only_one_for(self, name: str) -> ast.ClassDef | None:
        """The only model that is shown and never made, unless it was no use for training as shown."""
        lender = self._lender
        if lender.elastic or not lender.alone or lender.is_known(name):
            return None
        shown = lender.reading.models_never_made
        others = {*lender.together, *lender.reading.open_parameters} - {name}
        alone = not any(lender.role(n) == "model" for n in others)
        return shown[0] if len(shown) == 1 and alone else None

    def later(self, name: str) -> Any:
        """What a name stands for once the program has defined its classes."""
        meant = self.class_of(name)
        return self._made(meant, name) if meant is not None else self._lender.later(name)

    def _taken(self, root: UncalledFunction) -> list[ast.arg]:
        extra = [a for a in optional(root.tree) if self._is_needed(a.arg)]
        return [*root.wanted(), *extra, *self._windows_of_one(root.tree)]

    def _windows_of_one(self, function: Function) -> list[ast.arg]:
        """Parameters as ``accum=1``, whose default leaves accumulation out."""
        return [a for a in optional(function, 1) if self._is_a_window(a.arg)]

    def _is_a_window(self, name: str) -> bool:
        return name == EVERY or self._lender.role(name) == "accumulation"

    def _is_needed(self, name: str) -> bool:
        """Whether it gets an object although it has a default: settings do of which some are read."""
        role = self._lender.role(name)
        read = role == "settings" and self._lender.reading.asked_of(name)
        return role in ESSENTIAL or bool(read)

    def _start(self, root: UncalledFunction) -> None:
        target = self._target(root)
        names = [a.arg for a in self._taken(root)]
        self._lender.together += [n for n in names if n not in self._lender.together]
        self._run(root.tree, target, names, root.name)

    def _run(
        self, tree: ast.AST, target: Callable[..., Any], names: list[str], called: str
    ) -> None:
        lender = self._lender
        roles = {n: lender.role(n) for n in names}
        moment = {n: r for n, r in roles.items() if r in OF_A_TURN and n not in vars(self._module)}
        whole = moment and not MOMENT & {*moment.values()}
        epochs = [n for n, r in roles.items() if r == "epoch"]
        if whole and set(moment.values()) <= {"step", "count"}:
            moment = {}
        looks = self._looks({*roles.values()})
        fixed = {n: self._given(n) for n in sorted(names, key=lambda n: roles[n] != "model")
                 if n not in moment and n not in epochs}  # fmt: skip
        lender.notes.append(f"{called} is called with {', '.join(names) or 'nothing'}")
        if moment or looks:
            turns = Turns(lender, {n: str(r) for n, r in moment.items()}, tree)
            lender.notes.append(turns.said())
            for turn in turns:
                _call(target, {**dict.fromkeys(epochs, 0), **fixed, **turn})
            return
        self._whole(tree, target, fixed, epochs, {*roles.values()})

    def _looks(self, roles: set[str | None]) -> bool:
        """Whether it looks at gradients, or steps with them, that nothing in the program computes."""
        does = self._lender.reading.does(self._lender.reading.tree)
        apart = "grad" in does and not roles & {"loader", "dataset", "source", "criterion"}
        return "backward" not in does and ("step" not in does or apart)

    def _whole(
        self,
        tree: ast.AST,
        target: Callable[..., Any],
        fixed: dict[str, Any],
        epochs: list[str],
        roles: set[str | None],
    ) -> None:
        values = self._lender.values
        window = self._updates.window_of(tree)
        if window is not None and not epochs and isinstance(fixed.get(window), Loader):
            for micro_batches in self._micro_batches(fixed[window]):
                _call(target, {**fixed, window: micro_batches})
            return
        turns, again = 1, EPOCH in words(getattr(tree, "name", "")) and "epochs" not in roles
        if epochs or again or self._lender.networks.policy:  # which is updated after each rollout
            turns = int(values.number("epochs"))
        elif not roles & OF_A_PASS and self._updates.is_one_update(tree):
            turns = len(values.batches)
        for turn in range(turns):
            _call(target, {**fixed, **dict.fromkeys(epochs, turn)})

    def _micro_batches(self, loader: Loader) -> Iterator[list[Any]]:
        """The micro-batches of one update after the other; what is left over makes none."""
        size = int(self._lender.values.number("accumulation"))
        self._lender.notes.append(f"written for one update: run for every {size} batches")
        for start in range(0, len(loader) - size + 1, size):
            yield loader[start : start + size]

    def _given(self, name: str) -> Any:
        """The program's own object of that name or role, else what is lent."""
        own = vars(self._module)
        if name in own and not isinstance(own[name], Spy):
            return own[name]
        meant = self._class_meant(name) or self.class_of(name)
        if meant is not None and meant not in self._making:  # a wrapper has what it goes around
            return self._made(meant, name)
        role = "accumulation" if name == EVERY else self._lender.role(name)
        lent = self._lender.names
        there = [
            (n, v) for n, v in own.items() if not (n.startswith("__") or n in lent or _is_type(v))
        ]
        made = [v for n, v in there if role and self._lender.role(n) == role]
        if len(made) == 1 and role not in ("effectless", "logger"):
            return made[0]
        found = self._lender.of(role, name) if name == EVERY and role else self._lender.lend(name)
        return self._lender.later(name) if found is LATE else found

    def _class_meant(self, name: str) -> ast.ClassDef | None:
        """The class of the program's own of whose parts it asks what has that name."""
        asked = {*self._lender.reading.asked_of(name)} - {*dir(nn.Module)}
        found = [c for c in self._lender.reading.classes if asked and asked <= _parts(c)]
        return found[0] if len(found) == 1 else None

    def _made(self, cls: ast.ClassDef, name: str) -> Any:
        if cls is not self._class_meant(name):
            self.guessed = name
        made = self._instance(cls, self._global(cls.name))
        if isinstance(made, nn.Module):
            self._lender.values.trained = made
        self._lender.notes.append(f"an instance of {cls.name} is made")
        return made

    def _target(self, root: UncalledFunction) -> Callable[..., Any]:
        if root.owner is None:
            return self._global(root.tree.name)  # type: ignore[no-any-return]  # a function
        cls = self._global(root.owner.name)
        there = (*vars(self._module).values(), *self._lender.instances)
        made = [v for v in there if isinstance(v, cls)]
        if not root.is_method:
            return getattr(cls, root.tree.name)  # type: ignore[no-any-return]  # a function
        instance = made[0] if made else self._completed(root.owner, self._instance(root.owner, cls))
        if not any(one is instance for one in self._lender.instances):
            self._lender.instances += (instance,)
        return getattr(instance, root.tree.name)  # type: ignore[no-any-return]  # a method

    def _completed(self, owner: ast.ClassDef, instance: Any) -> Any:
        """With what its methods read of it and nothing that is shown sets."""
        for name in self._lender.reading.unset(owner):
            if not hasattr(instance, name):
                setattr(instance, name, self._lender.attribute("self", name))
        return instance

    def _instance(self, owner: ast.ClassDef, cls: Any) -> Any:
        narrow = [
            c for c in self._lender.reading.classes
            if any(isinstance(b, ast.Name) and b.id == owner.name for b in c.bases)
        ]  # fmt: skip
        if len(narrow) == 1:
            owner, cls = narrow[0], self._global(narrow[0].name)
        self._making.append(owner)
        try:
            return cls(**{name: self._given(name) for name in self._constructor(owner)})
        finally:
            self._making.pop()

    def _constructor(self, owner: ast.ClassDef) -> list[str]:
        made = [s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"]
        if made:
            extra = [a.arg for a in optional(made[0]) if self._lender.role(a.arg) in ESSENTIAL]
            ones = [a.arg for a in self._windows_of_one(made[0])]
            return [*(a.arg for a in wanted(made[0], bound=True)), *extra, *ones]
        if any("dataclass" in ast.unparse(d) for d in owner.decorator_list):
            plain = (s for s in owner.body if isinstance(s, ast.AnnAssign) and s.value is None)
            return [s.target.id for s in plain if isinstance(s.target, ast.Name)]
        parents = [
            c for c in self._lender.reading.classes
            if any(isinstance(b, ast.Name) and b.id == c.name for b in owner.bases)
        ]  # fmt: skip
        return self._constructor(parents[0]) if parents else []

    def _global(self, name: str) -> Any:
        try:
            return vars(self._module)[name]
        except KeyError:
            raise Unbound(name, "was not defined when the program had run") from None


def _call(target: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call it by keyword, but for what it takes by place alone."""
    parameters = inspect.signature(target).parameters.values()
    placed = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in values]
    named = {name: value for name, value in values.items() if name not in placed}
    return target(*[values[name] for name in placed], **named)


def _parts(cls: ast.ClassDef) -> set[str]:
    """Its methods, and what it sets of itself."""
    methods = {s.name for s in cls.body if isinstance(s, ast.FunctionDef)}
    return methods | {
        n.attr for n in walk(cls)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name) and n.value.id == "self"
    }  # fmt: skip


def _is_type(value: Any) -> bool:
    return isinstance(value, type) or hasattr(value, "__code__")
