"""``skimage``: pictures as arrays, red first, and what leaves them of a size."""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.standins import cv2

Pixels = Any
"""What numpy makes an array of."""


def img_as_float(image: Pixels, *_: Any, **__: Any) -> Pixels:
    """Between 0 and 1."""
    return image / 255.0 if image.dtype == np.uint8 else image.astype(np.float64)


def img_as_ubyte(image: Pixels, *_: Any, **__: Any) -> Pixels:
    """Up to 255."""
    return image if image.dtype == np.uint8 else (image * 255).astype(np.uint8)


img_as_float32 = img_as_float64 = img_as_float


def _same(name: str) -> Callable[..., Any] | None:
    return (lambda image, *_, **__: image) if name.islower() else None


class io:
    """``skimage.io``."""

    imsave = imshow = show = Inert()

    @staticmethod
    def imread(fname: Any, as_gray: bool = False, *_: Any, **__: Any) -> Pixels:
        """(height, width, 3), or (height, width) where it is gray."""
        return cv2.imread(fname, 0 if as_gray else -1)


class transform:
    """``skimage.transform``: what turns a picture is left out."""

    @staticmethod
    def resize(image: Pixels, output_shape: Any, *_: Any, **__: Any) -> Pixels:
        """The nearest pixels, between 0 and 1."""
        return img_as_float(cv2.resize(image, (output_shape[1], output_shape[0])))

    @staticmethod
    def rescale(image: Pixels, scale: float, *_: Any, **__: Any) -> Pixels:
        """The same."""
        return img_as_float(cv2.resize(image, None, None, scale, scale))

    lookup = staticmethod(_same)


class color:
    """``skimage.color``."""

    @staticmethod
    def rgb2gray(image: Pixels) -> Pixels:
        """One channel, between 0 and 1."""
        return img_as_float(image)[..., :3].mean(-1)

    @staticmethod
    def gray2rgb(image: Pixels) -> Pixels:
        """Three that are alike."""
        return np.stack([image] * 3, -1)

    @staticmethod
    def lookup(name: str) -> Any:
        """Other spaces have as many channels."""
        return img_as_float if "2" in name else None


class filters:
    """``skimage.filters``: left out."""

    lookup = staticmethod(_same)


exposure = util = filters


class metrics:
    """How good something is: nobody trains by it."""

    @staticmethod
    def lookup(name: str) -> Any:
        """A number, whatever is asked."""
        return (lambda *_, **__: 0.5) if name.islower() else None
