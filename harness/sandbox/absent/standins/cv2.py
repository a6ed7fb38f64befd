"""Pictures as arrays: read by what opens them here, cut to a size, with their channels turned."""

import io
from typing import Any

import numpy as np

from harness.sandbox.absent.inert import Inert

Pixels = Any
"""What numpy makes an array of."""

__version__ = "4.10.0"

SAME = frozenset({
    "blur", "GaussianBlur", "medianBlur", "bilateralFilter", "equalizeHist", "filter2D", "erode",
    "dilate", "morphologyEx", "fastNlMeansDenoisingColored",
})  # fmt: skip
"""What changes no sizes: it is left out."""

SHOWN = frozenset({
    "imshow", "waitKey", "destroyAllWindows", "namedWindow", "setNumThreads", "putText", "rectangle",
    "line", "circle", "setRNGSeed",
})  # fmt: skip
"""What nobody trains by."""


class Code(int):
    """A number that stands for a way to do something, and remembers its name."""

    name = ""


def _code(name: str, value: int) -> Code:
    found = Code(value)
    found.name = name
    return found


IMREAD_UNCHANGED, IMREAD_GRAYSCALE, IMREAD_COLOR = -1, 0, 1


def imread(filename: Any, flags: int = IMREAD_COLOR) -> Pixels:
    """(height, width, 3), blue first, or (height, width) where it is gray."""
    from PIL import Image  # what opens pictures that are not here

    return _pixels(Image.open(str(filename)), flags)


def imdecode(buf: Any, flags: int = IMREAD_COLOR) -> Pixels:
    """The same of bytes."""
    from PIL import Image

    return _pixels(Image.open(io.BytesIO(bytes(buf))), flags)


def _pixels(picture: Any, flags: int) -> Pixels:
    if flags == IMREAD_UNCHANGED and picture.mode == "L":
        return np.array(picture)
    return np.array(picture.convert("L") if flags == IMREAD_GRAYSCALE else picture.convert("RGB"))


def resize(
    src: Pixels,
    dsize: Any = None,
    dst: Any = None,
    fx: float = 0,
    fy: float = 0,
    *_: Any,
    **__: Any,
) -> Pixels:
    """The nearest pixels. ``dsize``: width and height."""
    high, wide = src.shape[:2]
    width, height = dsize or (max(1, round(wide * fx)), max(1, round(high * fy)))
    rows, columns = (
        np.arange(int(height)) * high // int(height),
        np.arange(int(width)) * wide // int(width),
    )
    return src[rows][:, columns]


def cvtColor(src: Pixels, code: int, *_: Any, **__: Any) -> Pixels:
    """Channels in another order, one for all, or three of one."""
    name = getattr(code, "name", "")
    if name.endswith("2GRAY"):
        return src[..., :3].mean(-1).astype(src.dtype)
    if name.startswith("COLOR_GRAY2"):
        return np.stack([src] * 3, -1)
    return np.ascontiguousarray(src[..., 2::-1])


def flip(src: Pixels, flipCode: int) -> Pixels:
    """About one axis, or both."""
    turned = src[:, ::-1] if flipCode else src
    return np.ascontiguousarray(turned[::-1] if flipCode <= 0 else turned)


def copyMakeBorder(
    src: Pixels, top: int, bottom: int, left: int, right: int, *_: Any, **__: Any
) -> Pixels:
    """Zeros around it."""
    return np.pad(src, [(top, bottom), (left, right)] + [(0, 0)] * (src.ndim - 2))


def warpAffine(src: Pixels, M: Any, dsize: Any, *_: Any, **__: Any) -> Pixels:
    """Nothing turned; of the size that is asked for."""
    return resize(src, dsize)


def imwrite(*_: Any, **__: Any) -> bool:
    """Nothing is written."""
    return True


def lookup(name: str) -> Any:
    """A way to do something, by its name; what leaves sizes as they are."""
    if name.isupper() or name.startswith("COLOR_"):
        return _code(name, sum(name.encode()))
    if name in SHOWN or name == "ocl":
        return Inert()
    return (lambda src, *_, **__: src) if name in SAME else None
