"""Runs a program until it has saved its state and gone on a little, and once more with what it saved.

Both runs are in one process of the jail, where nothing may fork; the second one has the namespace, the
command line and the random numbers with which the first began.
"""

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, SequentialLR
from torch.optim.optimizer import register_optimizer_step_pre_hook

from harness.domain.resumption import MOST, Held, Resumption, StepTaken
from harness.sandbox.absent.by_place import stands_for
from harness.sandbox.absent.files import writable
from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.machine import arguments
from harness.sandbox.own.modules import Repository
from harness.sandbox.own.patience import Patience
from harness.sandbox.ranks import sow
from harness.sandbox.ready import ReadyProgram
from harness.sandbox.recorder.rates import rates_of

GOES_ON = 8
"""Steps that are enough after a state was saved, or taken up."""

LONG = 24
"""After so many steps a run that has saved is not expected to save again."""

IN_VAIN = 30
"""After so many steps nothing is taken up any more; twice as many, where an option was given for it."""

NUMBERS, OPTIMIZERS, GROUPS, PLACES = 200, 16, 64, 64
"""The most that is told."""

LARGE = 1 << 53


@dataclass(frozen=True, slots=True)
class Save:
    """One file that was saved."""

    steps: int
    """How many steps came before."""
    path: str
    """Where it was written."""
    file: int
    """Its inode, by which it is found under another name."""
    held: tuple[Held, ...]
    """The optimizers then."""
    places: tuple[int, ...]
    """Whole numbers in it."""
    has_memory: bool
    """Whether an optimizer's state is in it."""

    def place(self) -> str | None:
        """Where it lies now: many are written under another name first."""
        with contextlib.suppress(OSError), os.scandir(os.path.dirname(self.path)) as entries:
            return next((one.path for one in entries if one.inode() == self.file), None)
        return None


class Watched:
    """One run: its steps, what it saved and what it loaded of that."""

    def __init__(
        self, patience: Patience, earlier: "Watched | None" = None, *, told: bool = False
    ) -> None:
        """``earlier``: the run whose state it may take up. ``told``: whether an option says so."""
        self._patience, self._earlier = patience, earlier
        self._in_vain = IN_VAIN * (1 + told)
        self._optimizers: list[Optimizer] = []
        self._schedules: dict[int, Any] = {}
        self._owners: list[Any] = []
        """What had the numbers of its last step."""
        self._old: list[Any] | None = None
        """The same when it took up its own state."""
        self._chosen: int | None = None
        self.steps: list[StepTaken] = []
        self.saves: list[Save] = []
        self.loads: list[tuple[int, Save]] = []
        """What this run loaded of its own, with the number of steps before."""
        self.took_up = False
        """Whether it loaded what the earlier one saved, before its first step."""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Note what happens inside."""
        save, load = torch.save, torch.load
        making = {kind: kind.__init__ for kind in (LRScheduler, SequentialLR)}
        hook = register_optimizer_step_pre_hook(self._step)
        vars(torch).update(save=self._saving(save), load=self._loading(load))
        for kind, original in making.items():
            setattr(kind, "__init__", self._made(original))  # noqa: B010 - mypy refuses
        try:
            yield
        finally:
            hook.remove()
            vars(torch).update(save=save, load=load)
            for kind, original in making.items():
                setattr(kind, "__init__", original)  # noqa: B010 - mypy refuses

    @property
    def chosen(self) -> list[Save]:
        """What it had saved at the moment from which it is taken up."""
        at = self._chosen or (self.saves[-1].steps if self.saves else None)
        return [save for save in self.saves if save.steps == at]

    def own_resumption(self) -> Resumption | None:
        """What it took up of its own, with an optimizer that had not stepped before."""
        for at, save in self.loads:
            known = {step.optimizer for step in self.steps[:at]}
            if len(self.steps) > at and self.steps[at].optimizer not in known:
                found = self._resumption(save, self.steps[at : at + GOES_ON])
                cut = {"before": found.before[: save.steps], "in_itself": True}
                return found.model_copy(update=cut)
        return None

    def taken_up_by(self, later: "Watched") -> Resumption | None:
        """What another run took up of it."""
        there = later.took_up and later.steps and self.chosen
        return self._resumption(self.chosen[-1], later.steps[:GOES_ON]) if there else None

    def _resumption(self, save: Save, after: list[StepTaken]) -> Resumption:
        return Resumption(
            before=tuple(self.steps[:MOST]),
            saved=save.steps,
            at_save=save.held,
            after=tuple(after),
            places=save.places,
            has_memory=save.has_memory,
        )

    def _made(self, original: Callable[..., None]) -> Callable[..., None]:
        def made(schedule: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(schedule, optimizer, *args, **kwargs)
            self._schedules[id(optimizer)] = schedule

        return made

    def _step(self, optimizer: Optimizer, *_: Any) -> None:
        self._decide()
        new = not any(one is optimizer for one in self._optimizers)
        if new:
            self._optimizers.append(optimizer)
        groups = optimizer.param_groups
        self.steps.append(
            StepTaken(
                optimizer=self._number(optimizer),
                rates=rates_of(optimizer)[:GROUPS],
                with_gradient=sum(p.grad is not None for g in groups for p in g["params"]),
                held=self._held(optimizer) if new else None,
                numbers=self._numbers(),
            )
        )

    def _numbers(self) -> dict[str, int]:
        """What it counts by; after it took up its own state, only what is new: who counts on in the same
        loop has not begun again, nor has who hands its count on to a function.
        """
        if self.loads and self._old is None:
            self._old = self._owners
        old = {id(one) for one in self._old or ()}
        counted = [*islice(_counted(sys._getframe(2)), NUMBERS)]
        stays = {(_leaf(name), number) for one, name, number in counted if id(one) in old}
        self._owners = [one for one, *_ in counted]
        new = (
            (name, n)
            for one, name, n in reversed(counted)
            if id(one) not in old
            if (_leaf(name), n) not in stays or not isinstance(one, FrameType)
        )
        return dict(new)

    def _decide(self) -> None:
        """End it where enough was seen."""
        done, at = len(self.steps), {save.steps for save in self.saves}
        if self._chosen is None and at and (len(at) > 1 or done >= max(LONG, min(at) + GOES_ON)):
            self._chosen = max(at)
        if self._earlier is None and not self.loads:
            over = self._chosen is not None and done >= self._chosen + GOES_ON
        elif self.took_up:
            over = done >= GOES_ON
        else:
            over = done >= self.loads[0][0] + GOES_ON if self.loads else done >= self._in_vain
        if over:
            raise self._patience.enough

    def _number(self, optimizer: Optimizer) -> int:
        return next(n for n, one in enumerate(self._optimizers) if one is optimizer)

    def _held(self, optimizer: Optimizer) -> Held:
        parameters = [p.detach() for group in optimizer.param_groups for p in group["params"]]
        schedule = self._schedules.get(id(optimizer))
        moves = getattr(schedule, "last_epoch", None)
        return Held(
            optimizer=self._number(optimizer),
            kind=type(optimizer).__name__[:200],
            elements=sum(p.numel() for p in parameters),
            remembers=sum(map(_remembers, optimizer.state.values())),
            weights=sum(float(p.double().abs().sum()) for p in parameters),
            schedule=type(schedule).__name__[:200] if schedule is not None else "",
            moves=moves if type(moves) is int else None,
        )

    def _saving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @stands_for(original)
        def save(thing: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
            kept = self._chosen is not None and not self.loads and self._earlier is None
            if kept and len(self.steps) > (self._chosen or 0):
                if isinstance(file, str | os.PathLike) and os.path.exists(file):
                    return None  # it goes on, and what is taken up stays as it is
                raise self._patience.enough
            file = writable(file)
            original(thing, file, *args, **kwargs)
            path = _path(file)
            if self.steps and path and os.path.exists(path):
                if not isinstance(file, str | os.PathLike):
                    file.flush()
                self.saves.append(self._save(thing, path))

        return save

    def _save(self, thing: Any, path: str) -> Save:
        held = tuple(map(self._held, self._optimizers[:OPTIMIZERS]))
        parts = [*_parts(thing)]
        places = (v for part in parts for v in part.values() if type(v) is int and abs(v) < LARGE)
        memory = any({"state", "param_groups"} <= {*map(str, part)} for part in parts)
        inode = os.stat(path).st_ino
        return Save(len(self.steps), path, inode, held, tuple(places)[:PLACES], memory)

    def _loading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @stands_for(original)
        def load(file: Any, *args: Any, **kwargs: Any) -> Any:
            found, path = original(file, *args, **kwargs), _path(file)
            inode = os.stat(path).st_ino if path and os.path.exists(path) else None
            own = next((s for s in reversed(self.saves) if s.file == inode), None)
            if own is not None:
                self.loads.append((len(self.steps), own))
            elif self._earlier is not None and not self.steps:
                self.took_up |= inode in {save.file for save in self._earlier.chosen}
            return found

        return load


_found: Resumption | None = None


def found() -> Resumption | None:
    """What was taken up, once both runs are over."""
    return _found


def run_twice(ready: ReadyProgram, seed: int) -> None:
    """Run a program until it has saved its state and gone on, and once more with that."""
    global _found  # noqa: PLW0603 - one candidate a process
    anew = _as_it_began(ready.module)
    first = _run(ready, Watched(ready.patience))
    _found = first.own_resumption()
    there = [(bool(save.places), place) for save in first.chosen if (place := save.place())]
    chosen = max(there, key=lambda one: one[0], default=(False, ""))[1]
    told = arguments.resume(chosen)
    if _found is not None or not (told or chosen):
        return
    anew()
    ready.patience.anew()
    sow(seed)
    second = _run(ready, Watched(ready.patience, first, told=told))
    _found = first.taken_up_by(second) or second.own_resumption()


def _run(ready: ReadyProgram, watched: Watched) -> Watched:
    with watched.watching(), contextlib.suppress(SystemExit):
        ready.run()
    return watched


def _as_it_began(module: ModuleType) -> Callable[[], None]:
    """What makes everything as it is now."""
    names, known, words, folder = dict(vars(module)), {*sys.modules}, [*sys.argv], os.getcwd()

    def anew() -> None:
        vars(module).clear()
        vars(module).update(names)
        for name in {*sys.modules} - known:
            if isinstance(getattr(sys.modules[name], "__loader__", None), Repository):
                del sys.modules[name]
        sys.argv[:] = words
        os.chdir(folder)
        gc.collect()

    return anew


def _counted(frame: FrameType | None) -> Iterator[tuple[Any, str, int]]:
    """Whole numbers of the program's own that can be seen from here, with the frame or the object that
    has them.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith(FILENAME):
            for name, value in [*frame.f_locals.items()]:
                for owner, path, number in _in(frame, name, value):
                    if type(number) is int and abs(number) < LARGE and not name.startswith("__"):
                        yield owner, path[:200], number
        frame = frame.f_back


def _in(frame: FrameType, name: str, value: Any) -> Iterator[tuple[Any, str, Any]]:
    """A variable, and what is in it."""
    yield frame, name, value
    # what holds more than plain values is a state that was loaded, or is to be saved
    inside = value if type(value) is dict and all(map(_is_plain, value.values())) else None
    if type(value).__module__ == "__main__":
        inside = getattr(value, "__dict__", None)
    for key, one in [*inside.items()] if isinstance(inside, dict) else ():
        yield value, f"{name}.{key}", one


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (int, float, bool, str)


def _remembers(state: Any) -> bool:
    tensors = (v for v in state.values() if torch.is_tensor(v)) if isinstance(state, dict) else ()
    return any(bool((v != 0).any()) for v in tensors)


def _parts(thing: Any, depth: int = 3) -> Iterator[dict[Any, Any]]:
    """The dictionaries in what is saved."""
    if isinstance(thing, dict) and depth:
        yield thing
        for part in thing.values():
            yield from _parts(part, depth - 1)


def _path(file: Any) -> str | None:
    name = file if isinstance(file, str | os.PathLike) else getattr(file, "name", None)
    return os.path.abspath(os.fspath(name)) if isinstance(name, str | os.PathLike) else None
