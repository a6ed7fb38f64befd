"""Which code makes one update, and what holds the micro-batches of one."""

import ast
from collections.abc import Iterator
from functools import cached_property

from harness.sandbox.world.reading import (
    Function,
    ProgramReading,
    gone_through,
    is_named,
    last_name,
)  # fmt: skip
from harness.syntax import walk


class UpdateReading:
    """How the code of one program is divided into updates."""

    def __init__(self, reading: ProgramReading) -> None:
        """Nothing is looked up yet."""
        self._reading = reading
        self._nodes, self._table = reading.nodes, reading.table

    def is_one_update(self, tree: ast.AST) -> bool:
        """Whether a function goes backward and steps, and not in a loop."""
        does = self._reading.does(tree)
        loops = (node for node in walk(tree) if isinstance(node, ast.For | ast.While))
        return "step" in does and "backward" in does - self._reading.does(*loops)

    def window_of(self, tree: ast.AST) -> str | None:
        """The parameter of a function that holds the micro-batches of one update: it goes through them,
        backward in each turn, and steps behind.
        """
        if not isinstance(tree, Function):
            return None
        loops = [n for n in walk(tree) if isinstance(n, ast.For)]
        if "step" not in self._reading.does(tree) - self._reading.does(*loops):
            return None
        over = {
            last_name(gone_through(n.iter)) for n in loops if "backward" in self._reading.does(n)
        }
        found = [a.arg for a in [*tree.args.args, *tree.args.kwonlyargs] if a.arg in over]
        return found[0] if len(found) == 1 else None

    @cached_property
    def takes_windows(self) -> bool:
        """Whether each turn of a loop is given the micro-batches of one update: ``for mbs in groups``,
        and goes through them itself or hands them to a function that does.
        """
        loops = (n for n in self._nodes if isinstance(n, ast.For) and self._is_unshown(n.iter))
        return any(self._is_of_windows(n, _last_target(n.target)) for n in loops)

    def _is_unshown(self, iterated: ast.expr) -> bool:
        """Whether what a loop goes through is made by nothing that the program shows."""
        while isinstance(iterated, ast.Call) and last_name(iterated.func) in ("enumerate", "tqdm"):
            iterated = gone_through(iterated)
        if isinstance(iterated, ast.Call):
            return last_name(iterated.func) in self._reading.free
        stored = (n for n in self._nodes if isinstance(n, ast.Name | ast.Attribute))
        bound = {last_name(n) for n in stored if isinstance(n.ctx, ast.Store)}
        return last_name(iterated) not in bound

    def _is_of_windows(self, loop: ast.For, name: str) -> bool:
        inner = [n for n in walk(loop) if isinstance(n, ast.For) and n is not loop]
        through = [n for n in inner if self._is_through_batches(n, name)]
        if through and "backward" in self._reading.does(*through):
            return "step" in self._reading.does(*loop.body) - self._reading.does(*inner)
        calls = (n for n in walk(loop) if isinstance(n, ast.Call))
        return any(name == given for c in calls for given in self._windowsassigned(c))

    def _is_through_batches(self, loop: ast.For, name: str) -> bool:
        """Whether a loop takes batches of what has the name, and not rows or times of a batch."""
        counted = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate"
        over = gone_through(loop.iter) if counted else loop.iter
        target = (
            loop.target.elts[-1] if counted and isinstance(loop.target, ast.Tuple) else loop.target
        )
        apart = isinstance(target, ast.Tuple)
        named = isinstance(target, ast.Name) and self._table.part(target.id) == "batch"
        return is_named(over, name) and (apart or named)

    def _windowsassigned(self, call: ast.Call) -> Iterator[str]:
        """Names that are handed to a function of the program's own as the micro-batches of an update."""
        for own in self._reading.bodies.get(last_name(call.func) or "", ()):
            names = [a.arg for a in own.args.args if a.arg != "self"]
            window = self.window_of(own)
            pairs = [
                *zip(names, call.args, strict=False),
                *((k.arg, k.value) for k in call.keywords),
            ]
            yield from (v.id for n, v in pairs if n == window and isinstance(v, ast.Name))


def _last_target(target: ast.expr) -> str:
    """The name of what a loop goes through: of ``i, item`` the second."""
    last = target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target
    return last.id if isinstance(last, ast.Name) else ""
