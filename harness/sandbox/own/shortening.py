"""The first batches of each loader instead of all: whole windows, and a short one after them."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import torch
from torch.utils.data import DataLoader

from harness.sandbox.absent.lent import guessed, lend
from harness.sandbox.own.patience import Patience
from harness.sandbox.own.sizes import gathered_by, sizes_in
from harness.syntax import walk

WINDOWS = 4
"""Full windows in a pass."""

LEAST = 12
"""The least number of batches in a pass: whole windows of most sizes, where the size is not known; of
short passes, of which there are many, a quarter.
"""

ROWS = 8
"""Rows that a batch keeps where a program is too large for a CPU."""

OnBatch = Callable[[int, int, str], None]

LOADER = "own"
"""What loaders of the program's own are called in the recording."""

LARGEST, OFTEN = 64, 16
"""The largest window that is kept whole, and the largest that is read off ``i % 16``."""

ACCUMULATION = re.compile(r".*accum.*|.*acc_?steps|update_freq|iter_size|.*micro_?(steps|batches)")
"""Names of how many batches an update gathers."""


class Shortening:
    """Shortens every loader that the program makes."""

    def __init__(
        self,
        tree: ast.Module,
        patience: Patience,
        on_batch: OnBatch = lambda *_: None,
        *,
        shrunk: bool = False,
        windows: int = WINDOWS,
    ) -> None:
        """Read off the program how many batches its windows may have. ``on_batch``: is told of every
        batch that may be trained on: pass, place in it, loader. ``shrunk``: whether batches are made
        small, too. ``windows``: full ones in a pass.
        """
        self._shrunk, self._windows = shrunk, windows
        self._window = window_of(tree)
        self.declared = declared_window(tree)
        """How many micro-batches an update gathers, where the program names one such number."""
        self._patience = patience
        self._on_batch = on_batch
        self._passes = 0

    def batches(self, count: int) -> int:
        """How many of so many batches a pass keeps: with as many left over after the last window."""
        least = LEAST * self._windows // WINDOWS
        window = self._window if self._window > 1 else least
        full = max(least, self._windows * self._window)
        full += -full % window
        return min(count, full + count % window)

    def install(self) -> None:
        """From now on loaders are made short."""
        initialise, iterate = DataLoader.__init__, DataLoader.__iter__
        shortening = self

        def made(self: Any, *args: Any, **kwargs: Any) -> None:
            args, kwargs = shortening._with_few_rows(args, kwargs)
            initialise(self, *args, **kwargs)
            if type(self).__module__.partition(".")[0] not in ("harness", "accelerate"):
                shortening.shorten(self)

        def passed(self: Any) -> Any:
            shortening._patience.began(self)
            turns = shortening._handed(islice(iterate(self), vars(self).get("_most")))
            return CountedTurns(turns, self)

        setattr(DataLoader, "__init__", made)  # noqa: B010 - mypy refuses to assign
        setattr(DataLoader, "__iter__", passed)  # noqa: B010 - mypy refuses to assign

    def _with_few_rows(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a loader; with small batches where the program is too large, or where what
        is lent does not fill one.
        """
        rows = kwargs.get("batch_size", args[1] if len(args) > 1 else None)
        if type(rows) is not int or rows <= ROWS:
            return args, kwargs
        if not (self._shrunk or (kwargs.get("drop_last") and _fill_none(args, rows))):
            return args, kwargs
        lend(f"shrunk (batches of {rows} rows -> {ROWS})")
        if "batch_size" in kwargs:
            return args, {**kwargs, "batch_size": ROWS}
        return (args[0], ROWS, *args[2:]), kwargs

    def _handed(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches of a pass; where gradients are off nobody trains."""
        number, self._passes = self._passes, self._passes + 1
        for index, batch in enumerate(batches):
            if torch.is_grad_enabled():
                self._on_batch(number, index, LOADER)
            yield batch

    def shorten(self, loader: Any) -> None:
        """Keep the first batches of one."""
        try:
            count = len(loader)
        except TypeError:  # nobody knows how many there are
            vars(loader)["_most"] = self.batches(self._window * 1000)
            return
        kept = self.batches(count)
        if guessed() and self._window > 1 and not kept % self._window:
            kept = min(count, kept + self._window // 2)  # how many there are is ours
        if kept == count:
            return
        lend(f"a loader of {count} batches: the first {kept} of each pass")
        if loader.batch_sampler is not None:
            vars(loader)["batch_sampler"] = FirstOfSampler(loader.batch_sampler, kept)
        else:
            vars(loader)["sampler"] = FirstOfSampler(loader.sampler, kept)


class CountedTurns:
    """The batches of a pass, which are as many as its loader has: ``len(iter(loader))``."""

    def __init__(self, turns: Iterator[Any], loader: Any) -> None:
        self._turns, self._loader = turns, loader

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next batch."""
        return next(self._turns)

    def __len__(self) -> int:
        return len(self._loader)


class FirstOfSampler:
    """The first of what a sampler gives; all else is the sampler's own."""

    def __init__(self, sampler: Any, count: int) -> None:
        self._sampler, self._count = sampler, count

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self._sampler), self._count)

    def __len__(self) -> int:
        return self._count

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_sampler" not in vars(self):  # while it is being copied
            raise AttributeError(name)
        return getattr(self._sampler, name)


def declared_window(tree: ast.Module) -> int | None:
    """The one number above 1 that has the name of an accumulation."""
    named = {s.value for s in sizes_in(tree) if s.value > 1 and ACCUMULATION.fullmatch(s.name)}
    return named.pop() if len(named) == 1 else None


def window_of(tree: ast.Module) -> int:
    """The largest number of batches that an update of the program may gather, as far as it says so."""
    sizes = [*sizes_in(tree)]
    named = [size.value for size in sizes if ACCUMULATION.fullmatch(size.name)]
    turns = [
        node.right.value for node in walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        and isinstance(node.right, ast.Constant) and type(node.right.value) is int
    ]  # fmt: skip
    often = [count for count in turns if count <= OFTEN]  # more is an interval of reports
    return min(LARGEST, max([gathered_by(sizes), *named, *often]))


def _fill_none(args: tuple[Any, ...], rows: int) -> bool:
    """Whether a data set that is lent has fewer rows than one batch."""
    sized = bool(args) and hasattr(args[0], "__len__")
    return bool(guessed()) and sized and len(args[0]) < rows
