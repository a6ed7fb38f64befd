"""Which samples entered a forward, recognised by their content."""

import numpy as np
import torch

from harness.oracle.facts import Array
from harness.workloads import WorkloadBatch

FOREIGN = 1_000_000
"""Offset of sample indices of the next rank, so that data of all ranks share one numbering."""

ALIKE = 0.9999
"""Smallest cosine, after removing the mean, at which a row is the same up to an affine change and
half precision.
"""


LIKE_NO_OTHER = 4
"""Numbers that a row holds at least, if it is to be known again after an affine change: of two numbers
every pair is alike.
"""


class SampleIndex:
    """All rows of a workload's data, of every rank."""

    def __init__(self, ranks: tuple[tuple[WorkloadBatch, ...], ...], own: int) -> None:
        """``own``: the rank whose samples keep their own numbers."""
        order = [own, *(r for r in range(len(ranks)) if r != own)]
        batches = [(rank, batch) for rank in order for batch in ranks[rank]]
        self._numbers = [
            sample if rank == own else sample + FOREIGN * (rank + 1)
            for rank, batch in batches
            for sample in batch.samples
        ]
        self._inputs = torch.cat([batch.inputs for _, batch in batches])
        self._targets = torch.cat([batch.target for _, batch in batches])
        self._weights = torch.cat([batch.weights for _, batch in batches])
        self._masked = any(batch.mask is not None for _, batch in batches)
        self._rows: Array = self._inputs.numpy()
        backwards = range(len(self._numbers) - 1, -1, -1)  # of rows alike the first one counts
        contents = _contents(self._rows)
        self._row_of = {self._numbers[row]: row for row in backwards}
        self._exact = {contents[row]: self._numbers[row] for row in backwards}

    def recognise(self, inputs: tuple[Array, ...]) -> tuple[int, ...] | None:
        """Sample of each row of the first recognisable input, ``None`` when a row is in no data set."""
        for array in inputs:
            if array.ndim >= 1 and array.shape[1:] == self._rows.shape[1:]:
                return self._found(array)
        return None

    def target(self, samples: tuple[int, ...]) -> WorkloadBatch:
        """The samples put together as one batch."""
        rows = torch.tensor([self._row_of[sample] for sample in samples], dtype=torch.long)
        mask = self._weights[rows] if self._masked else None
        return WorkloadBatch(self._inputs[rows], self._targets[rows], mask, samples)

    def _found(self, rows: Array) -> tuple[int, ...] | None:
        if rows.dtype == self._rows.dtype:
            found = [self._exact.get(content) for content in _contents(rows)]
            if None not in found:
                return tuple(number for number in found if number is not None)
        if rows.dtype.kind != "f" or rows[0].size < LIKE_NO_OTHER:
            return None
        return self._alike(rows)

    def _alike(self, rows: Array) -> tuple[int, ...] | None:
        similarity = _standard(rows) @ _standard(self._rows).T
        if not (similarity.max(axis=1) > ALIKE).all():
            return None
        return tuple(self._numbers[i] for i in similarity.argmax(axis=1))


def _contents(rows: Array) -> list[bytes]:
    """The bytes of each row."""
    data = rows.tobytes()
    size = len(data) // max(1, len(rows))
    return [data[start : start + size] for start in range(0, size * len(rows), size or 1)]


def _standard(rows: Array) -> Array:
    flat = rows.reshape(len(rows), -1).astype(np.float64)
    centred = flat - flat.mean(axis=1, keepdims=True)
    sizes = np.sqrt((centred * centred).sum(axis=1, keepdims=True))
    standard: Array = centred / np.maximum(sizes, 1e-300)
    return standard
