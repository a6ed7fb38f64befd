"""Programs that train in several places, one after the other: a teacher before its student, a warm-up
before the rest. Where enough was seen of one, its outermost loop ends, and the program goes on; so it
does where a state is put back outside of loops, as the best one is.
"""

import ast
import copy
import re
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType

from harness.syntax import walk

LOOP = "__phase__"
"""Name of the context that stands around every outermost loop."""

BACKWARD = frozenset({"backward", "manual_backward"})

_Loop = ast.For | ast.While
_Waiting = ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor


_EVALUATES = re.compile(r"val|test|eval|dev\b|hold|False|None", re.IGNORECASE)
"""What a call says that trains nothing, though its function can."""


_TRAINS = re.compile(r"train|loop|learn|runner|engine", re.IGNORECASE)
"""What those are called whose ``train()`` trains."""


class PhaseOver(SystemExit):
    """Raised in a loop of which enough was seen."""


class Phases:
    """The places from which a program goes backward, and which of them were seen."""

    def __init__(self, tree: ast.Module, filename: str) -> None:
        """``filename``: that of the program's code, as frames show it."""
        calls = [n for n in walk(tree) if isinstance(n, ast.Call)]
        steps = [
            call for call in calls
            if isinstance(call.func, ast.Attribute) and call.func.attr in BACKWARD
        ]  # fmt: skip
        again = [*_called_again(tree)]
        self._open = {(one.lineno, one.end_lineno or one.lineno) for one in (*steps, *again)}
        self._restores = any(loop is None and _restores(call) for loop, call in _outermost(tree))
        self.several = len(steps) > 1 or len(again) > 1 or self._restores
        self._filename = filename
        self._depth = 0
        self.ended = 0
        """How many loops were ended."""

    def met(self) -> None:
        """A backward runs now."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self._open:
            if frame.f_code.co_filename == self._filename:
                line = frame.f_lineno
                self._open = {at for at in self._open if not at[0] <= line <= at[1]}
            frame = frame.f_back

    @property
    def go_on(self) -> bool:
        """Whether something else may train once the loop that runs now is over, or what it kept is put
        back then.
        """
        last = self._restores and not self.ended
        return self.several and (bool(self._open) or last) and self._depth > 0

    def __enter__(self) -> None:
        """An outermost loop of some function begins."""
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        """It is over. The first of those that are running takes the end of a phase."""
        self._depth -= 1
        over = isinstance(error, PhaseOver) and self._depth == 0
        self.ended += over
        return over


def _called_again(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls of one function of the program that goes backward, each in a loop of its own or in none;
    those that evaluate left out.
    """
    functions = [n for n in walk(tree) if isinstance(n, ast.FunctionDef)]
    trains = {f.name for f in functions if any(map(_goes_backward, walk(f)))}
    places: dict[str, dict[int, ast.Call]] = {}
    for outer, call in _outermost(tree):
        name = _called(call)
        given = (name, *map(ast.unparse, (*call.args, *call.keywords)))
        if name in trains and not _EVALUATES.search(", ".join(given)):
            places.setdefault(name, {}).setdefault(id(outer or call), call)
    for found in places.values():
        yield from found.values() if len(found) > 1 else ()


def _called(call: ast.Call) -> str:
    """The function or the method; nothing for a network that is put into training: ``model.train()``."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=of, attr=name) if name != "train" or _TRAINS.search(
            ast.unparse(of)
        ):
            return name
    return ""


def _outermost(
    tree: ast.AST, loop: ast.AST | None = None
) -> Iterator[tuple[ast.AST | None, ast.Call]]:
    """Every call, with the outermost loop around it in its function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            yield loop, node
        inside = isinstance(tree, ast.FunctionDef | ast.ClassDef)
        around = None if inside else loop
        yield from _outermost(node, around or (node if isinstance(node, _Loop) else None))


def _restores(call: ast.Call) -> bool:
    """Whether it puts back what has a name, and not a part of a file."""
    into = isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"
    return into and any(isinstance(given, ast.Name | ast.Attribute) for given in call.args)


def _goes_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in BACKWARD


def with_phases(tree: ast.Module) -> ast.Module:
    """A copy with a context around every loop that is in no other of its function."""
    marked = copy.deepcopy(tree)
    _Marked().visit(marked)
    return ast.fix_missing_locations(marked)


class _Marked(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.stmt:
        return self._around(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        return self._around(node)

    def _around(self, node: _Loop) -> ast.stmt:
        inside = walk(node)
        if any(isinstance(n, _Waiting) for n in inside):
            return node
        context = ast.withitem(ast.Call(ast.Name(LOOP, ast.Load()), [], []), None)
        return ast.copy_location(ast.With([context], [node]), node)
