"""Sounds that are not here: a second of noise for each that a program reads with ``wave``."""

import functools
import io
import os
import re
import wave
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.sandbox.absent.lent import is_whole, lend
from harness.sandbox.absent.shown import ShownByProgram

READS = re.compile(r"\bwave\.open\(|\b(soundfile|librosa|torchaudio|wavfile)\b")
"""How a program reads a sound."""

RATE = 16_000
"""Samples of a second, each of 16 bits, on one channel."""


def install(shown: ShownByProgram) -> None:
    """Patch what reads sounds, where the program does."""
    if READS.search(shown.source):
        setattr(wave, "open", _reading(wave.open))  # noqa: B010 - mypy refuses to assign


def samples(name: str) -> "np.ndarray[Any, Any]":
    """A second of noise between -1 and 1."""
    lend("a sound by chance for each that is not here")
    return np.random.default_rng(sum(name.encode())).uniform(-1.0, 1.0, RATE)


def _reading(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(file: Any, mode: str | None = None) -> Any:
        known = not isinstance(file, str | os.PathLike) or is_whole(file)
        if known or mode in ("w", "wb"):
            return original(file, mode)
        return original(io.BytesIO(_noise(os.path.basename(os.fspath(file)))), "rb")

    return read


def _noise(name: str) -> bytes:
    """A file of a sound, by its name the same each time."""
    found = io.BytesIO()
    with wave.Wave_write(found) as writer:
        writer.setparams((1, 2, RATE, RATE, "NONE", "not compressed"))
        writer.writeframes((samples(name) * 9000).astype(np.int16).tobytes())
    return found.getvalue()
