"""``torchaudio``: sounds by chance, and what is made of one before a network hears it, in its shape."""

import os
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.sounds import RATE, samples
from harness.sandbox.absent.standins.torchvision import TRAIN

KINDS = 10
"""How many classes the sounds of known sets have."""


def load(path: Any = "", *_: Any, **__: Any) -> tuple[Tensor, int]:
    """A second of noise on one channel, and its rate."""
    name = os.path.basename(str(path))
    return torch.from_numpy(samples(name).astype(np.float32))[None], RATE


def save(*_: Any, **__: Any) -> None:
    """Nothing is written."""


set_audio_backend = save


class Spectrogram(nn.Module):
    """How much of each frequency there is, in time: (..., n) -> (..., frequencies, frames)."""

    window: Tensor

    def __init__(
        self, sample_rate: int = RATE, n_fft: int = 400, *_: Any, hop_length: int | None = None,
        n_mels: int | None = None, power: float | None = 2.0, center: bool = True, **__: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.sample_rate, self.n_fft, self.hop_length = sample_rate, n_fft, hop_length or n_fft // 2
        self.n_mels, self._power, self._center = n_mels, power or 1.0, center
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, sound: Tensor) -> Tensor:
        """By torch's own transform; bands of as many frequencies where fewer are asked for."""
        flat = sound.reshape(-1, sound.shape[-1])
        if flat.shape[-1] < self.n_fft:
            flat = nn.functional.pad(flat, (0, self.n_fft - flat.shape[-1]))
        found = torch.stft(
            flat, self.n_fft, self.hop_length, window=self.window, center=self._center,
            pad_mode="constant", return_complex=True,
        ).abs() ** self._power  # fmt: skip
        if self.n_mels:
            found = nn.functional.adaptive_avg_pool2d(found, (self.n_mels, found.shape[-1]))
        return found.reshape(*sound.shape[:-1], *found.shape[-2:])


class transforms:
    """``torchaudio.transforms``."""

    @staticmethod
    def Spectrogram(n_fft: int = 400, *_: Any, **more: Any) -> nn.Module:
        """All frequencies."""
        return Spectrogram(RATE, n_fft, **more)

    @staticmethod
    def MelSpectrogram(
        sample_rate: int = RATE, n_fft: int = 400, *_: Any, **more: Any
    ) -> nn.Module:
        """Bands of them."""
        return Spectrogram(sample_rate, n_fft, **{"n_mels": 128, **more})

    @staticmethod
    def MFCC(
        sample_rate: int = RATE, n_mfcc: int = 40, *_: Any, melkwargs: Any = None, **__: Any
    ) -> nn.Module:
        """As many as are asked for, and as many frames as there would be."""
        return Spectrogram(sample_rate, **{**(melkwargs or {}), "n_mels": n_mfcc})

    class Resample(nn.Module):
        """At another rate."""

        def __init__(self, orig_freq: int = RATE, new_freq: int = RATE, *_: Any, **__: Any) -> None:
            super().__init__()
            self._by = new_freq / orig_freq

        def forward(self, sound: Tensor) -> Tensor:
            """(..., n) -> (..., n times the rates' quotient)"""
            wide = max(1, round(sound.shape[-1] * self._by))
            flat = nn.functional.interpolate(sound.reshape(1, -1, sound.shape[-1]), wide)
            return flat.reshape(*sound.shape[:-1], wide)

    class AmplitudeToDB(nn.Module):
        """Ten times the logarithm."""

        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__()

        def forward(self, power: Tensor) -> Tensor:
            """The same shape."""
            return 10.0 * torch.log10(power.clamp_min(1e-10))

    @staticmethod
    def lookup(name: str) -> Any:
        """Chance is left out: masks and stretches change nothing."""
        return (lambda *_, **__: nn.Identity()) if name[:1].isupper() else None


class Sounds(Dataset[Any]):
    """A known set: a sound, its rate, its class, a speaker and a number for each."""

    def __init__(self, *_: Any, subset: str | None = None, **__: Any) -> None:
        lend(f"{type(self).__name__}: sounds by chance")
        self._walker = [f"{n}.wav" for n in range(TRAIN if subset != "testing" else TRAIN // 8)]

    def __len__(self) -> int:
        return len(self._walker)

    def __getitem__(self, n: int) -> tuple[Tensor, int, str, str, int]:
        return *load(self._walker[n]), f"class {n % KINDS}", f"speaker {n}", n


class datasets:
    """``torchaudio.datasets``: any of one label a sound."""

    SPEECHCOMMANDS = type("SPEECHCOMMANDS", (Sounds,), {})


class functional:
    """``torchaudio.functional``."""

    @staticmethod
    def resample(sound: Tensor, orig_freq: int, new_freq: int, *_: Any, **__: Any) -> Tensor:
        """At another rate."""
        found: Tensor = transforms.Resample(orig_freq, new_freq)(sound)
        return found
