"""Which functions call which, and so what each function takes part in."""

import ast
from collections.abc import Iterator

from harness.sandbox.binding.flow.definitions import Class, Function, Instance
from harness.sandbox.binding.flow.effects import (
    BACKWARD,
    GRADIENTS,
    MADE,
    STEP,
    Effects,
    touches_gradients,
)
from harness.sandbox.binding.flow.graph import Call
from harness.sandbox.binding.flow.reader import Reader


class CallGraph:
    """Effects of functions, including those of the functions that they call; ``None``: module-level
    code.
    """

    def __init__(self, reader: Reader, tree: ast.Module) -> None:
        """Close effects over calls."""
        self._callees: dict[Function | None, set[Function]] = {None: set()}
        self._does = reader.effects.marks
        self.marks: dict[Function | None, set[str]] = {None: _own(tree.body, reader.effects)}
        """``step``, ``backward``, ``fit`` and ``gradients``, by function."""
        for function in reader.functions:
            body = [] if isinstance(function.tree, ast.Lambda) else function.tree.body
            self._callees[function], self.marks[function] = set(), _own(body, reader.effects)
        for call in reader.graph.calls:
            caller = call.caller if call.caller in self._callees else None
            self._callees[caller].update(f for f in _targets(call) if f in self._callees)
            self.marks[caller].update(self._does[n] for n in _names(call) if n in self._does)
            if "called_scaler" in call.callee.uses:
                self.marks[caller].update({STEP, BACKWARD})
        self._close()

    def _close(self) -> None:
        changed = True
        while changed:
            changed = False
            for caller, callees in self._callees.items():
                for callee in callees:
                    if not self.marks[callee] <= self.marks[caller]:
                        self.marks[caller] |= self.marks[callee]
                        changed = True

    @property
    def everything(self) -> set[str]:
        """Effects of any code at all, called or not."""
        return set().union(*self.marks.values())

    def goes_back(self, call: Call) -> bool:
        """Whether a call computes gradients, itself or in what it calls."""
        if not any(isinstance(t, Function) for t in call.callee.targets):
            return any(self._does.get(name) == BACKWARD for name in call.callee.names)
        return any(BACKWARD in self.marks.get(f, ()) for f in _targets(call))

    def at_work(self) -> set[Class]:
        """Classes of the objects that code which goes backward works with from outside, and what they
        are built on.
        """
        used = {
            callee.owner
            for caller, callees in self._callees.items()
            for callee in callees
            if BACKWARD in self.marks[caller] and callee.owner and callee.name not in MADE
            if caller is None or caller.owner is not callee.owner
        }
        return used | {parent for owner in used for parent in owner.parents}

    def called(self) -> set[Function]:
        """Functions that another one, or module-level code, calls."""
        return {f for caller, callees in self._callees.items() for f in callees if f is not caller}


def _own(body: list[ast.stmt], effects: Effects) -> set[str]:
    """What a body does without calling anything."""
    found = {GRADIENTS} if touches_gradients(body) else set()
    return found | ({STEP} if effects.steps_by_hand(body) else set())


def _targets(call: Call) -> Iterator[Function]:
    for node in (call.callee, *call.arguments()):
        for target in node.targets:
            if isinstance(target, Function):
                yield target
            elif node is call.callee and isinstance(target, Class):
                yield from _present(target, "__init__", "__post_init__")
            elif node is call.callee and isinstance(target, Instance):
                yield from _present(target.cls, "__call__", "forward")


def _present(cls: Class, *names: str) -> Iterator[Function]:
    yield from (method for name in names if (method := cls.method(name)) is not None)


def _names(call: Call) -> set[str]:
    own = any(isinstance(t, Function) for t in call.callee.targets)
    return set() if own else call.callee.names
