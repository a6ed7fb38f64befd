"""Pictures without pillow: what data sets hand out and transforms take."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


class Picture:
    """A picture with three channels or one. ``pixels``: (height, width, channels), bytes."""

    def __init__(self, pixels: Tensor) -> None:
        """Keep them."""
        self.pixels = pixels

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.pixels.shape[1], self.pixels.shape[0]

    @property
    def mode(self) -> str:
        """``RGB``, or ``L`` for one channel."""
        return "L" if self.pixels.shape[2] == 1 else "RGB"

    width = property(lambda self: self.pixels.shape[1])
    height = property(lambda self: self.pixels.shape[0])

    def convert(self, mode: str = "RGB") -> "Picture":
        """With one channel or with three."""
        wanted = 1 if mode in ("L", "1") else 3
        pixels = self.pixels[:, :, :1]
        return self if wanted == self.pixels.shape[2] else Picture(pixels.repeat(1, 1, wanted))

    def resize(self, size: Any, *_: Any, **__: Any) -> "Picture":
        """The nearest pixels. ``size``: width and height."""
        width, height = size
        rows = torch.arange(height) * self.pixels.shape[0] // height
        columns = torch.arange(width) * self.pixels.shape[1] // width
        return Picture(self.pixels[rows][:, columns])

    def copy(self) -> "Picture":
        """Another with the same pixels."""
        return Picture(self.pixels.clone())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        plain = self.pixels.numpy()
        plain = plain[:, :, 0] if plain.shape[2] == 1 else plain
        return plain if dtype is None else plain.astype(dtype)

    def save(self, *_: Any, **__: Any) -> None:
        """Nothing."""


class Image:
    """``PIL.Image``."""

    Image = Picture
    BICUBIC = BILINEAR = NEAREST = LANCZOS = ANTIALIAS = 0

    @staticmethod
    def fromarray(array: Any, mode: str | None = None) -> Picture:
        """A picture of these pixels."""
        pixels = torch.as_tensor(np.asarray(array).astype(np.uint8))
        return Picture(pixels[:, :, None] if pixels.ndim == 2 else pixels)
