"""Sounds that are not here: a second of noise for each that a program reads with ``wave`` or scipy."""

import functools
import importlib
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
    if "wavfile" in shown.source:
        library: Any = importlib.import_module("scipy.io.wavfile")
        library.read = _decoding(library.read)


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


def _decoding(original: Callable[..., Any]) -> Callable[..., Any]:
    """``scipy.io.wavfile.read``."""

    @functools.wraps(original)
    def read(file: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(file, str | os.PathLike) or is_whole(file):
            return original(file, *args, **kwargs)
        return RATE, _steps(samples(os.path.basename(os.fspath(file))))

    return read


def _steps(sound: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """In whole numbers of 16 bits."""
    return (sound * 9000).astype(np.int16)


def _noise(name: str) -> bytes:
    """A file of a sound, by its name the same each time."""
    found = io.BytesIO()
    with wave.Wave_write(found) as writer:
        writer.setparams((1, 2, RATE, RATE, "NONE", "not compressed"))
        writer.writeframes(_steps(samples(name)).tobytes())
    return found.getvalue()
