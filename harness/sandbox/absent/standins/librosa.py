"""``librosa`` and ``soundfile``: sounds by chance as arrays, and their spectra, in the right shapes."""

from typing import Any

import numpy as np
import torch

from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.sounds import RATE
from harness.sandbox.absent.standins import torchaudio

Array = Any
"""What numpy makes an array of."""


def load(
    path: Any = "", *_: Any, sr: int | None = 22_050, duration: float | None = None, **__: Any
) -> tuple[Array, int]:
    """A second of noise, or less, at a rate."""
    rate = sr or RATE
    sound = resample(torchaudio.load(path)[0][0].numpy(), orig_sr=RATE, target_sr=rate)
    return sound[: None if duration is None else int(duration * rate)], rate


def resample(y: Array, orig_sr: int = RATE, target_sr: int = RATE, *_: Any, **__: Any) -> Array:
    """At another rate."""
    heard = torch.as_tensor(np.asarray(y), dtype=torch.float32)
    return torchaudio.functional.resample(heard, orig_sr, target_sr).numpy()


def read(file: Any = "", *_: Any, dtype: str = "float64", **__: Any) -> tuple[Array, int]:
    """``soundfile.read``."""
    return torchaudio.load(file)[0][0].numpy().astype(dtype), RATE


def stft(y: Array, n_fft: int = 2048, hop_length: int | None = None, **_: Any) -> Array:
    """(frequencies, frames), complex"""
    made = torchaudio.Spectrogram(n_fft=n_fft, hop_length=hop_length or n_fft // 4, power=1.0)
    heard = torch.as_tensor(np.asarray(y), dtype=torch.float32)
    return made(heard).numpy().astype(np.complex64)


def power_to_db(power: Array, *_: Any, **__: Any) -> Array:
    """Ten times the logarithm."""
    return 10.0 * np.log10(np.maximum(np.abs(power), 1e-10))


amplitude_to_db = power_to_db


class feature:
    """``librosa.feature``."""

    @staticmethod
    def melspectrogram(
        y: Array = None, sr: int = RATE, n_fft: int = 2048, hop_length: int = 512, n_mels: int = 128,
        **_: Any,
    ) -> Array:  # fmt: skip
        """(bands, frames)"""
        made = torchaudio.Spectrogram(sr, n_fft, hop_length=hop_length, n_mels=n_mels)
        return made(torch.as_tensor(np.asarray(y), dtype=torch.float32)).numpy()

    @staticmethod
    def mfcc(y: Array = None, sr: int = RATE, n_mfcc: int = 20, **more: Any) -> Array:
        """As many as are asked for."""
        known = {name: more[name] for name in ("n_fft", "hop_length") if name in more}
        return feature.melspectrogram(y, sr, n_mels=n_mfcc, **known)


class effects:
    """``librosa.effects``."""

    @staticmethod
    def trim(y: Array, *_: Any, **__: Any) -> tuple[Array, Array]:
        """All of it."""
        return y, np.array([0, len(y)])


class util:
    """``librosa.util``."""

    normalize = staticmethod(lambda y, *_, **__: y / max(1e-9, float(np.abs(y).max())))

    @staticmethod
    def fix_length(data: Array, *_: Any, size: int = RATE, **__: Any) -> Array:
        """Cut off, or filled up with zeros."""
        return np.pad(data[:size], (0, max(0, size - len(data))))


display = write = Inert()
