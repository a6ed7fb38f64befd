"""Recorded tensors as arrays."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from harness.domain.recording import Recorded, TensorBytes
from harness.oracle.facts import Array


def array_of(blob: TensorBytes) -> Array:
    """What was recorded, read-only. Raises ``ValueError`` when the bytes do not fit the sizes."""
    return np.frombuffer(blob.data, _dtype(blob.dtype)).reshape(blob.shape)


def named(item: Recorded, prefix: str) -> Iterator[tuple[str, Array]]:
    """An event's tensors whose names begin so, by the rest of their names."""
    for blob in item.tensors:
        if blob.name.startswith(prefix):
            yield blob.name.removeprefix(prefix), array_of(blob)


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays are the same to the last bit."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def is_rounded(value: Array, whole: Array) -> bool:
    """Whether it is the same to the last bit, or in half precision's digits."""
    if same_bits(value, whole):
        return True
    halves = value.dtype == np.float32 and not (value.view(np.uint32) & 0x1FFF).any()
    same = value.shape == whole.shape
    return halves and same and bool(np.allclose(whole, value, rtol=2.0**-7, atol=1e-7))


_dtype = cache(np.dtype)
