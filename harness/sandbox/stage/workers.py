"""Workers of data loaders, played in the one process that the jail allows.

What decides what a worker draws is played as torch does it: each worker has a copy of the data set,
of its functions and of the program's global data, made when a pass begins (as a fork makes it), random
states that are seeded as torch seeds them, ``get_worker_info()``, and every so many-th batch. That is
tested against real worker processes, draw by draw. Not played: copies of what classes and closures
hold, what libraries keep for themselves, memory that is shared on purpose, and time.
"""

import copy
import itertools
import random
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, _DatasetKind
from torch.utils.data._utils import worker as torchs
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from harness.sandbox.machine.spellings import plain_loader
from harness.sandbox.stage import copies
from harness.sandbox.unbound import Unbound
from harness.workloads.workload import Note

Namespace = dict[str, Any]
"""The globals of the program."""

_COPIED = (
    list, dict, set, deque, np.ndarray, np.random.Generator, np.random.RandomState, random.Random,
    torch.Generator, torch.Tensor,
)  # fmt: skip
"""What a program keeps in its globals and changes in place."""


_OVER = object()


def install(namespace: Namespace, note: Note) -> None:
    """From now on loaders are torch's own again, with workers that are played and passes noted."""
    plain_loader()

    def iterator(loader: Any) -> Any:
        _noted(loader, note)
        if loader.num_workers == 0:
            return _SinglePass(loader)
        return PlayedWorkers(loader, namespace, note)

    setattr(DataLoader, "_get_iterator", iterator)  # noqa: B010 - mypy refuses to assign
    # in a worker torch puts batches together in shared memory, which the jail has not, nor needs here
    plain = classmethod(lambda cls, size, *, device="cpu": cls(size))
    setattr(torch.UntypedStorage, "_new_shared", plain)  # noqa: B010 - as above


def _noted(loader: Any, note: Note) -> None:
    note(
        "pass",
        workers=loader.num_workers,
        pinned=bool(loader.pin_memory),
        drop_last=bool(loader.drop_last),
    )


@contextmanager
def _unwarned() -> Iterator[None]:
    """Torch sees that there is no accelerator, which the program has not to know."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pin_memory.*")
        yield


class _SinglePass(_SingleProcessDataLoaderIter):
    """No workers. Batches are pinned where the loader says so."""

    def __init__(self, loader: Any) -> None:
        with _unwarned():
            super().__init__(loader)
        self._pins = loader.pin_memory

    def _next_data(self) -> Any:
        found = super()._next_data()  # type: ignore[no-untyped-call]  # torch's
        return copies.pinned(found) if self._pins else found


class PlayedWorkers(_BaseDataLoaderIter):
    """One pass over a loader with workers, or several where they persist."""

    def __init__(self, loader: Any, namespace: Namespace, note: Note) -> None:
        with _unwarned():
            super().__init__(loader)
        self._pins = loader.pin_memory
        self._ahead = (loader.prefetch_factor or 2) * loader.num_workers
        self._note = note
        count = loader.num_workers
        self._workers = [_Worker(loader, i, int(self._base_seed), namespace) for i in range(count)]
        self._begin()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:  # noqa: FBT001, FBT002 - torch's signature
        super()._reset(loader, first_iter)
        _noted(loader, self._note)
        for worker in self._workers:
            worker.begin()
        self._begin()

    def _begin(self) -> None:
        self._turns = itertools.cycle(self._workers)
        self._tasks: deque[tuple[_Worker, Any]] = deque()
        for _ in range(self._ahead):
            self._hand_out()

    def _hand_out(self) -> None:
        """Give the next batch to the next worker that has more, as far ahead as torch does."""
        index = next(self._sampler_iter, _OVER)  # `None` is what an endless sampler gives
        if index is _OVER:
            return
        for _ in self._workers:
            worker = next(self._turns)
            if not worker.is_exhausted:
                self._tasks.append((worker, index))
                return

    def _next_data(self) -> Any:
        while self._tasks:
            worker, index = self._tasks.popleft()
            if worker.is_exhausted:
                continue
            try:
                found = worker.fetch(index)
            except StopIteration:
                if self._dataset_kind != _DatasetKind.Iterable:
                    raise
                worker.is_exhausted = True
                self._hand_out()
                continue
            self._hand_out()
            return copies.pinned(found) if self._pins else found
        raise StopIteration


class _Worker:
    """One worker: what a forked process would hold as its own."""

    def __init__(self, loader: Any, number: int, base_seed: int, namespace: Namespace) -> None:
        self._main = namespace
        kept = {n: v for n, v in namespace.items() if _is_copied(v)}
        parts = (loader.dataset, loader.collate_fn, loader.worker_init_fn)
        (dataset, self._collate, init), own = _forked(parts, kept)
        self._own: Namespace = {**namespace, **own}
        self._seed, self._number = base_seed + number, number
        self._fetcher: Any = None
        self._kind, self._auto = loader._dataset_kind, loader._auto_collation
        self._drop_last = loader.drop_last
        self._info = torchs.WorkerInfo(
            id=number, num_workers=loader.num_workers, seed=self._seed, dataset=dataset
        )
        self._states: tuple[Any, ...] | None = None
        self.is_exhausted = False
        with self._inside():
            random.seed(self._seed)
            torch.default_generator.manual_seed(self._seed)
            np.random.seed(torchs._generate_state(base_seed, number))  # noqa: NPY002 - as torch does
            if init is not None:
                init(number)
            self._create()

    def begin(self) -> None:
        """Begin another pass, where workers persist."""
        self.is_exhausted = False
        with self._inside():
            self._create()

    def fetch(self, index: Any) -> Any:
        """One batch."""
        with self._inside():
            return self._fetcher.fetch(index)

    def _create(self) -> None:
        self._fetcher = _DatasetKind.create_fetcher(
            self._kind, self._info.dataset, self._auto, self._collate, self._drop_last
        )

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Run what the worker's process would run, in its state; the main one's comes back."""
        states, before = _states(), dict(self._main)
        if self._states is not None:
            _set_states(self._states)
        _exchange(self._main, self._own)
        torchs._worker_info, copies.inside = self._info, True
        try:
            yield
        finally:
            torchs._worker_info, copies.inside = None, False
            self._states, self._own = _states(), dict(self._main)
            _exchange(self._main, before)
            _set_states(states)


def _exchange(namespace: Namespace, other: Mapping[str, Any]) -> None:
    for name in namespace.keys() - other.keys():
        del namespace[name]
    namespace.update(other)


def _states() -> tuple[Any, ...]:
    return random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002 - the global one


def _set_states(states: tuple[Any, ...]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002 - the global one
    torch.set_rng_state(states[2])


def _is_copied(value: object) -> bool:
    """Whether a worker would change a copy of it, and it holds nothing that is no data."""
    if isinstance(value, nn.Module | torch.nn.Parameter | types.ModuleType | type | DataLoader):
        return False
    return isinstance(value, _COPIED) or type(value).__module__ == "__main__"


def _forked(
    parts: tuple[Any, ...], kept: Namespace
) -> tuple[tuple[Any, Callable[..., Any], Any], Namespace]:
    """Copies of all, in which what was one object is one."""
    memo: dict[int, Any] = {}
    own: Namespace = {}
    for name, value in kept.items():
        try:
            own[name] = copy.deepcopy(value, memo)
        except Exception:  # noqa: BLE001 - it holds a group or a model: no worker uses it
            own[name] = value
    try:
        dataset, collate, init = (copy.deepcopy(part, memo) for part in parts)
    except Exception as error:
        said = f"cannot be copied, as a worker's process would copy it ({error})"
        raise Unbound("the data set", said) from error
    return (dataset, collate, init), own
