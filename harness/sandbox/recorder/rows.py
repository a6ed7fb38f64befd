"""The rows of a batch behind what a program made of it before it entered a model."""

from collections.abc import Iterable
from math import prod

from torch import Tensor


class Rows:
    """Finds samples of a given size among tensors."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        """``sizes``: those of one sample."""
        self._sizes = sizes
        self._elements = prod(sizes)

    def among(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        """The rows that some of these are, or are views of, each once. (n, *sizes)"""
        found: dict[tuple[int, int], Tensor] = {}
        for tensor in tensors:
            rows = self._of(tensor)
            if rows is not None:
                found.setdefault((rows.data_ptr(), len(rows)), rows)
        return [*found.values()]

    def _of(self, tensor: Tensor) -> Tensor | None:
        if tensor.shape[1:] == self._sizes and tensor.dim() > 0:
            return tensor
        base = tensor._base
        if base is not None and base.shape[1:] == self._sizes and base.is_contiguous():
            first = tensor.storage_offset() - base.storage_offset()
            last = first + sum(
                (n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)
            )
            return base[first // self._elements : last // self._elements + 1]
        alike = tensor.dim() > 0 and tensor.numel() == len(tensor) * self._elements
        return tensor.reshape(len(tensor), *self._sizes) if alike and len(tensor) else None
