"""Sounds: a second of noise for each file, for soundfile and librosa."""

from typing import Any

from harness.sandbox.absent import sounds


def read(file: Any, *_: Any, **__: Any) -> tuple[Any, int]:
    """Samples, and how many a second has."""
    return sounds.samples(str(file)), sounds.RATE


def load(path: Any, *, sr: int | None = 22_050, **__: Any) -> tuple[Any, int]:
    """The same, at the rate that is asked for."""
    return sounds.samples(str(path)), sr or sounds.RATE
