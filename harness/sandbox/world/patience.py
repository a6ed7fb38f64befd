"""Ends training that goes on far longer than a probe needs, such as ``while step < 100_000``.

Between two updates, and only where no statement that is still to come makes an update of its own: the
rest would be more of the same.
"""

import ast
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

from harness.domain.event import ENOUGH
from harness.sandbox.batches.loaders import OnBatch
from harness.syntax import blocks, walk

BATCHES = 1000
"""Number of batches, over all ranks, that is enough on workloads of the usual size."""

TIMES = 4
"""The least number of batches, as a multiple of what the probe wants."""

SECONDS = 7.0
"""After so many seconds the least number of batches is enough, if no other rank would wait. A
little later the program would be killed.
"""

RATES = ("sched", "lr", "warm", "ema", "swa", "prof", "bar", "log", "timer", "stopp")
"""If one of these is part of its name, the object whose ``step`` is called is no optimizer."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_clock = time.monotonic  # the program may put its own in its place


class Enough(SystemExit):
    """Raised when the program has trained for long enough to be judged."""


class Patience:
    """Counts the batches and the updates of one run."""

    def __init__(self, tree: ast.Module, file: str, wanted: int, ranks: int) -> None:
        """``file``: file name of the program's code; ``wanted``: how many batches the probe wants."""
        self._tree = tree
        self._file = file
        self._least = TIMES * wanted
        self._most = BATCHES // ranks
        self._alone = ranks == 1
        self._handed = self._updates = 0
        self._updated = False
        self._news = 0  # batches handed out when an update last came from a new place
        self._lines: set[int] = set()
        self._began = _clock()

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self._updates

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what runs inside."""
        hook = register_optimizer_step_post_hook(self._stepped)
        self._began = _clock()
        try:
            yield
        finally:
            hook.remove()

    def before(self, on_batch: OnBatch) -> OnBatch:
        """``on_batch`` that first raises ``Enough``, if it is enough."""

        def told(epoch: int, index: int, loader: str) -> None:
            if self._updated and self._is_long() and not self._is_something_to_come():
                raise Enough(f"{ENOUGH} after {self._updates} updates")
            self._handed += 1
            self._updated = False
            on_batch(epoch, index, loader)

        return told

    def _is_long(self) -> bool:
        if self._handed - self._news < self._least:
            return False
        return self._handed >= self._most or (self._alone and _clock() - self._began > SECONDS)

    def _stepped(self, *_: Any) -> None:
        self._updated = True
        self._updates += 1
        known = len(self._lines)
        self._lines.update(self._lines_now())
        if len(self._lines) > known:
            self._news = self._handed

    def _lines_now(self) -> Iterator[int]:
        """The program's lines that are under way, the innermost first."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                yield frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]  # of the outermost it is None

    # --------------------------------------------------------------------------- what is still to come

    def _is_something_to_come(self) -> bool:
        updating = _updating(self._tree)
        return any(
            _has_update([statement], updating) and not self._lines & _lines(statement)
            for line in self._lines_now()
            for statement in _rest(self._tree, line)
        )


def _rest(tree: ast.Module, line: int) -> list[ast.stmt]:
    """What is under way at a line and comes behind it, to the end of the function that it is in."""
    rest: list[ast.stmt] = []
    waiting = [tree.body]
    while waiting:
        block = waiting.pop()
        for place, statement in enumerate(block):
            if line in _lines(statement):
                is_own = isinstance(statement, Definition)
                rest = [] if is_own else [*rest, *block[place:]]
                waiting = blocks(statement)
                break
    return [s for s in rest if not isinstance(s, Definition)]


def _lines(statement: ast.stmt) -> set[int]:
    return {*range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)}


def _updating(tree: ast.Module) -> frozenset[str]:
    """Functions of the program that make updates, themselves or by others."""
    functions = [n for n in walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    found: frozenset[str] = frozenset()
    while more := {f.name for f in functions if _has_update(f.body, found)} - found:
        found |= more
    return found


def _has_update(body: Iterable[ast.stmt], updating: frozenset[str]) -> bool:
    calls = (n for statement in body for n in walk(statement) if isinstance(n, ast.Call))
    return any(_is_update(call, updating) for call in calls)


def _is_update(call: ast.Call, updating: frozenset[str]) -> bool:
    match call.func:
        case ast.Attribute(attr="step", value=receiver):
            named = ast.unparse(receiver).lower()
            return "step" in updating or not any(part in named for part in RATES)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in updating
    return False
