"""Stand-ins for data loaders and datasets: the workload's batches, in the program's form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from harness.sandbox.binding.forms import Form, Part
from harness.workloads import Batch

OnBatch = Callable[[int, int, str], None]
"""``(epoch, index, loader)``: a batch is about to be handed out."""

Publish = Callable[[Batch, int], None]
"""Rebinds names that a program reads beside its loop variable, such as a free ``target``."""


class Sampler(torch.utils.data.Sampler[int]):
    """Shuffles nothing: the order of a workload's data is part of it."""

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
    """Every pass yields the same batches, as fresh copies. A ``DataLoader`` to whoever asks."""

    _batches: Sequence[Batch]
    _form: Form
    _on_batch: OnBatch
    _publish: Publish
    _name: str
    _passes: int
    collate: Callable[[list[Any]], Any] | None

    def __init__(self, *_: Any, **__: Any) -> None:
        """Nothing: what ``DataLoader(dataset, batch_size=32)`` returns has been made by ``over``."""

    @classmethod
    def over(
        cls,
        batches: Sequence[Batch],
        form: Form,
        on_batch: OnBatch,
        publish: Publish,
        name: str = "train",
    ) -> "Loader":
        """A loader of these batches; ``name`` tells loaders apart in the recording."""
        self = object.__new__(cls)
        vars(self).update(
            _batches=batches, _form=form, _on_batch=on_batch, _publish=publish, _name=name, _passes=0,
            collate=None,
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
        return len(self._batches)

    def __iter__(self) -> Any:
        epoch = self._passes
        vars(self)["_passes"] = epoch + 1
        for index, batch in enumerate(self._batches):
            self._on_batch(epoch, index, self._name)
            self._publish(batch, index)
            yield self._shown(batch)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a loader holds the run's own channel")

    def _shown(self, batch: Batch) -> Any:
        if self.collate is None:
            return self._form.build(leaves(batch))
        return self.collate([self._form.build(sample(batch, i)) for i in range(len(batch.samples))])

    @property
    def form(self) -> Form:
        """What each of its batches looks like."""
        return self._form

    def set_epoch(self, epoch: int) -> None:
        """Like a sampler's."""
        assert isinstance(self.sampler, Sampler)
        self.sampler.set_epoch(epoch)

    def with_collate(self, collate: Callable[[list[Any]], Any] | None) -> "Loader":
        """The same batches, collated by the program's function."""
        other = Loader.over(self._batches, self._form, self._on_batch, self._publish, self._name)
        vars(other)["collate"] = collate
        return other


class Samples(Dataset[Any]):
    """The samples of a loader, one by one; a ``DataLoader`` over it yields the loader's batches."""

    def __init__(self, loader: Loader) -> None:
        """Samples of ``loader``, in order."""
        self._loader = loader
        self._places = [
            (batch, row) for batch in loader._batches for row in range(len(batch.samples))
        ]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Any:
        batch, row = self._places[index]
        return self._loader._form.build(sample(batch, row))

    def loader(self, collate: Callable[[list[Any]], Any] | None) -> Loader:
        """What ``DataLoader(dataset, ...)`` becomes."""
        return self._loader if collate is None else self._loader.with_collate(collate)


class Source:
    """A function that returns the next batch whenever it is called, without end."""

    def __init__(self, loader: Loader) -> None:
        """Batches of ``loader``, pass after pass."""
        self._loader = loader
        self._pass = iter(loader)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """The next batch."""
        try:
            return next(self._pass)
        except StopIteration:
            self._pass = iter(self._loader)
            return next(self._pass)


def leaves(batch: Batch) -> Mapping[Part, Any]:
    """What a batch's leaves hold; copies, so that a program cannot spoil the next pass."""
    return {
        "input": batch.inputs.clone(),
        "target": batch.target.clone(),
        "mask": batch.weights.clone(),
        "index": torch.tensor(batch.samples),
        "count": int(batch.weights.sum()),
        "nothing": None,
    }


def sample(batch: Batch, row: int) -> Mapping[Part, Any]:
    """What one sample's leaves hold."""
    return {
        "input": batch.inputs[row].clone(),
        "target": batch.target[row].clone(),
        "mask": batch.weights[row].clone(),
        "index": batch.samples[row],
        "count": 1,
        "nothing": 0,
    }
