"""Stand-ins for data loaders and datasets: the workload's batches, in the program's form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, default_collate

from harness.sandbox.batches.rows import Shape
from harness.sandbox.batches.transitions import met
from harness.workloads import WorkloadBatch

OnBatch = Callable[[int, int, str], None]
"""``(epoch, index, loader)``: called before a batch is handed out."""

Publish = Callable[[WorkloadBatch, int], None]
"""Rebinds names that a program reads besides its loop variable, such as a free ``target``."""


class Sampler(torch.utils.data.Sampler[int]):
    """A sampler that never shuffles, since the order of the data belongs to the workload."""

    def __init__(self, count: int = 0) -> None:
        """``count`` samples."""
        self.count = count
        self.epoch = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def set_epoch(self, epoch: int) -> None:
        """Remember it."""
        self.epoch = epoch


class Loader(DataLoader[Any]):
    """Yields the same batches in every pass, as fresh copies. To ``isinstance`` it is a
    ``DataLoader``.
    """

    _batches: Sequence[WorkloadBatch]
    _form: Shape
    _on_batch: OnBatch
    _publish: Publish
    _name: str
    _passes: int
    shuffles: object
    """The sampler that the program gave it."""
    collate: Callable[[list[Any]], Any] | None
    _items: Any
    _drawn: Any
    window: int
    """How many micro-batches each turn is given as a list; 1 for batches as they are."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Does nothing, because ``DataLoader(dataset, batch_size=32)`` returns a loader made by
        ``over``.
        """

    @classmethod
    def over(
        cls,
        batches: Sequence[WorkloadBatch],
        form: Shape,
        on_batch: OnBatch,
        publish: Publish,
        name: str = "train",
    ) -> "Loader":
        """A loader of these batches; ``name`` identifies it in the recording."""
        self = object.__new__(cls)
        vars(self).update(
            _batches=batches, _form=form, _on_batch=on_batch, _publish=publish, _name=name, _passes=0,
            collate=None, _items=None, _drawn=None, window=1, shuffles=None,
        )  # fmt: skip
        dataset = Samples(self)
        DataLoader.__init__(self, dataset, batch_sampler=[list(b.samples) for b in batches])
        # DataLoader refuses these once it is made; its own values would be None and a plain sampler.
        vars(self).update(
            sampler=Sampler(len(dataset)),
            batch_size=max((len(b.samples) for b in batches), default=1),
        )
        return self

    def __len__(self) -> int:
        return len(self._batches) // self.window

    def __next__(self) -> Any:
        """Drawn from: its reader has an iterator under this name, which begins anew at the end."""
        if self._drawn is None:
            self._drawn = iter(self)
        try:
            return next(self._drawn)
        except StopIteration:
            self._drawn = iter(self)
            return next(self._drawn)

    def __iter__(self) -> Any:
        epoch = self._passes
        if isinstance(self.shuffles, DistributedSampler):
            iter(self.shuffles)  # for who looks at its epochs
        vars(self)["_passes"] = epoch + 1
        if self.window > 1:
            yield from (self[n * self.window : (n + 1) * self.window] for n in range(len(self)))
            return
        for index, batch in enumerate(self._batches):
            self._on_batch(epoch, index, self._name)
            self._publish(batch, index)
            yield self._shown(batch)

    def __getitem__(self, place: Any) -> Any:
        """A batch by index, or several by slice: the loader may stand for a list of batches."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self._batches)))]
        index = range(len(self._batches))[place]
        self._on_batch(max(0, self._passes - 1), index, self._name)
        self._publish(self._batches[index], index)
        return self._shown(self._batches[index])

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a loader holds the run's own channel")

    def _shown(self, batch: WorkloadBatch) -> Any:
        if self.collate is None:
            return self._form.build(leaves(batch))
        rows = range(len(batch.samples))
        if self._items is None:
            return self.collate([self._form.build(sample(batch, i)) for i in rows])
        before = next(i for i, other in enumerate(self._batches) if other is batch)
        first = sum(len(other.samples) for other in self._batches[:before])
        return self.collate([self._items[first + i] for i in rows])

    @property
    def form(self) -> Shape:
        """The form of its batches."""
        return self._form

    def set_epoch(self, epoch: int) -> None:
        """Like a sampler's."""
        assert isinstance(self.sampler, Sampler)
        self.sampler.set_epoch(epoch)

    def with_collate(
        self, collate: Callable[[list[Any]], Any] | None, items: Any = None
    ) -> "Loader":
        """The same batches, put together by the program's collate function.

        ``items``: a dataset of the program's own around ours, which gives samples by index.
        """
        other = Loader.over(self._batches, self._form, self._on_batch, self._publish, self._name)
        vars(other).update(collate=collate, _items=items)
        return other


class Samples(Dataset[Any]):
    """The samples of a loader one by one. A ``DataLoader`` over them yields the loader's batches."""

    def __init__(self, loader: Loader) -> None:
        """Samples of ``loader``, in order."""
        self._loader = loader
        self._places = [
            (batch, row) for batch in loader._batches for row in range(len(batch.samples))
        ]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int | slice) -> Any:
        """One sample, or a batch of them, as of a ``TensorDataset``."""
        if isinstance(index, slice):
            return default_collate([self[n] for n in range(len(self))[index]])
        batch, row = self._places[index]
        return self._loader._form.build(sample(batch, row))

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of all samples, as of a ``TensorDataset``."""
        batches = [leaves(batch) for batch in self._loader._batches]
        return torch.cat([b["input"] for b in batches]), torch.cat([b["target"] for b in batches])

    def loader(self, collate: Callable[[list[Any]], Any] | None) -> Loader:
        """The loader that ``DataLoader(dataset, ...)`` is replaced by."""
        return self._loader if collate is None else self._loader.with_collate(collate)

    def loader_around(self, items: Any, collate: Callable[[list[Any]], Any] | None) -> Loader:
        """The same for a dataset of the program's own that passes our samples on one by one."""
        return self._loader.with_collate(collate or default_collate, items)


def behind(dataset: Any) -> Samples | None:
    """Our samples inside a dataset of the program's own, if it has one item for each of them."""
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        return None
    held = [v for v in getattr(dataset, "__dict__", {}).values() if isinstance(v, Samples)]
    return held[0] if len(held) == 1 and len(held[0]) == len(dataset) else None


class Leaves(dict[str, Any]):
    """What the names of one batch can mean; of a replay memory's what is asked for."""

    def __init__(self, batch: WorkloadBatch, plain: Mapping[str, Any]) -> None:
        """``plain``: what any batch has."""
        super().__init__(plain)
        self._batch = batch

    def __missing__(self, part: str) -> Any:
        return met(self._batch)[part]


def leaves(batch: WorkloadBatch) -> Leaves:
    """The values of a batch's leaves, as copies, so that a program cannot spoil the next pass."""
    return Leaves(
        batch,
        {
            "input": batch.inputs.clone(),
            "views": views(batch.inputs),
            "target": batch.target.clone(),
            "targets": (batch.target.clone(), batch.target.flip(0)),
            "mask": mask(batch),
            "index": torch.tensor(batch.samples),
            "count": int(batch.weights.sum()),
            "lengths": lengths(batch),
            "nothing": None,
        },
    )


def mask(batch: WorkloadBatch) -> torch.Tensor:
    """What counts of a batch: of its rows, and where these are of tokens that have one class, of each
    of them. Which tokens of a text count, its targets say.
    """
    if batch.inputs.is_floating_point() or batch.inputs.dim() != 2 or batch.target.dim() != 1:
        return batch.weights.clone()
    return batch.weights[:, None].expand(batch.inputs.shape).long()  # floats would be a state


def lengths(batch: WorkloadBatch) -> torch.Tensor:
    """How many places of each row count, at least one."""
    if batch.weights.dim() == 2:
        return batch.weights.sum(1).long().clamp(min=1)
    places = batch.inputs.shape[1] if batch.inputs.dim() > 1 else 1
    return torch.full((len(batch.inputs),), places)


def views(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two views of the same samples: as they are, and moved by one place."""
    return inputs.clone(), inputs.roll(1, -1)


def sample(batch: WorkloadBatch, row: int) -> Mapping[str, Any]:
    """The values of one sample's leaves."""
    return {
        "input": batch.inputs[row].clone(),
        "views": views(batch.inputs[row]),
        "target": batch.target[row].clone(),
        "targets": (batch.target[row].clone(), batch.target[row - 1].clone()),
        "mask": mask(batch)[row],
        "index": batch.samples[row],
        "count": 1,
        "lengths": int(lengths(batch)[row]),
        "nothing": 0,
    }
