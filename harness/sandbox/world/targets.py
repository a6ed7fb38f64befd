"""Targets that a program does not pass: a model that computes its own loss looks them up."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from harness.sandbox.unbound import Unbound
from harness.workloads import WorkloadBatch


class Targets:
    """The targets of one rank's data, by the rows of its inputs, each of which is unique."""

    def __init__(self, batches: Sequence[WorkloadBatch]) -> None:
        """The index is built at first use."""
        self._batches = batches
        self._rows: dict[bytes, Tensor] = {}

    def of(self, inputs: Any) -> Tensor:
        """Targets of these inputs. (n, ...) -> (n, ...). Raises ``Unbound`` for inputs of other data."""
        found = [self._known().get(key) for key in self._keys(inputs)]
        rows = [row for row in found if row is not None]
        if not rows or len(rows) < len(found):
            raise Unbound("model", "computes its loss itself, from inputs that are not the data's")
        return torch.stack(rows)

    def any_of(self, count: int) -> Tensor:
        """So many targets, whatever the inputs are."""
        every = torch.cat([batch.target for batch in self._batches])
        return every[torch.arange(count) % len(every)]

    def are_targets(self, value: Tensor) -> bool:
        """Whether every row of a tensor is a target of the data."""
        known = {
            key for batch in self._batches for key in self._keys(batch.target, batch.target.dtype)
        }
        found = [*self._keys(value, self._batches[0].target.dtype)]
        return bool(found) and known.issuperset(found)

    def _known(self) -> dict[bytes, Tensor]:
        if not self._rows:
            for batch in self._batches:
                keys = self._keys(batch.inputs)
                self._rows |= dict(zip(keys, batch.target, strict=True))
        return self._rows

    def _keys(self, inputs: Any, dtype: torch.dtype | None = None) -> Iterator[bytes]:
        if isinstance(inputs, Tensor) and inputs.ndim > 0:
            plain = inputs.detach().to(dtype or self._batches[0].inputs.dtype).contiguous()
            yield from (row.numpy().tobytes() for row in plain)
