"""Transforms of a picture with its mask, each given by name: they leave the size that is asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from harness.sandbox.absent.standins.cv2 import resize

SIZED = (
    "Resize",
    "RandomCrop",
    "CenterCrop",
    "RandomResizedCrop",
    "RandomSizedCrop",
    "PadIfNeeded",
)
"""What leaves another size: others leave the one that there is."""

SHOWN = ("image", "mask", "masks")
"""What has pixels, under its name or one that ends so."""

Change = Callable[[str, Any], Any]


class Step:
    """One transform."""

    def __init__(self, change: Change) -> None:
        """``change``: is given each part by its name."""
        self._change = change

    def __call__(self, **given: Any) -> dict[str, Any]:
        """All parts, with pixels changed."""
        return {name: self._one(name, part) for name, part in given.items()}

    def _one(self, name: str, part: Any) -> Any:
        if not name.rstrip("0123456789").endswith(SHOWN):
            return part
        return (
            [self._change(name, p) for p in part] if name == "masks" else self._change(name, part)
        )


class Compose:
    """One after another."""

    def __init__(self, transforms: Any, *_: Any, **__: Any) -> None:
        self.transforms = [*transforms]

    def __call__(self, **given: Any) -> dict[str, Any]:
        """All parts."""
        for step in self.transforms:
            given = step(**given)
        return given


Sequential = Compose


def OneOf(transforms: Any, *_: Any, **__: Any) -> Any:
    """The first of them."""
    return next(iter(transforms))


SomeOf = OneOrOther = OneOf


def Normalize(mean: Any = 0.0, std: Any = 1.0, max_pixel_value: float = 255.0, **_: Any) -> Step:
    """Less the mean, over the deviation; the mask stays."""
    low, wide = np.asarray(mean) * max_pixel_value, np.asarray(std) * max_pixel_value
    return Step(lambda name, p: p if "mask" in name else ((p - low) / wide).astype(np.float32))


def ToFloat(max_value: float | None = None, **_: Any) -> Step:
    """Between 0 and 1; the mask stays."""
    return Step(lambda name, p: p if "mask" in name else np.float32(p / (max_value or 255.0)))


def _sized(*given: Any, **named: Any) -> Step:
    """Of a height and a width, be they numbers, a pair, or named."""
    pair = named.get("size") or next((one for one in given if isinstance(one, tuple | list)), None)
    sides = [pair[-2], pair[-1]] if pair else [one for one in given if isinstance(one, int)][:2]
    high = named.get("height", named.get("min_height", [*sides, 64][0]))
    wide = named.get("width", named.get("min_width", [*sides, high, high][1]))
    return Step(lambda _, pixels: resize(pixels, (wide, high)))


def _tensors(transpose_mask: bool = False, **_: Any) -> Step:
    """Channels first; a mask as it is."""

    def change(name: str, pixels: Any) -> torch.Tensor:
        turns = pixels.ndim == 3 and ("mask" not in name or transpose_mask)
        found = torch.from_numpy(
            np.ascontiguousarray(pixels.transpose(2, 0, 1) if turns else pixels)
        )
        return found[None] if found.ndim == 2 and "mask" not in name else found

    return Step(change)


class pytorch:
    """``albumentations.pytorch``."""

    ToTensorV2 = ToTensor = staticmethod(_tensors)

    class transforms:
        """``albumentations.pytorch.transforms``."""

        ToTensorV2 = ToTensor = staticmethod(_tensors)


ToTensorV2 = _tensors


def lookup(name: str) -> Any:
    """All others change no sizes."""
    if name in SIZED:
        return _sized
    if name in ("LongestMaxSize", "SmallestMaxSize"):
        return lambda max_size=64, *_, **__: _sized(max_size, max_size)
    return (lambda *_, **__: Step(lambda _, pixels: pixels)) if name[:1].isupper() else None
