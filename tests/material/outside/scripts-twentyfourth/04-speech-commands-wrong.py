import argparse
import logging
from pathlib import Path

import numpy as np
import torch
from scipy.io import wavfile
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("kws")

SAMPLE_RATE = 16000
N_FFT = 512
HOP = 160
N_MELS = 40


def mel_filterbank(n_mels=N_MELS, n_fft=N_FFT, sr=SAMPLE_RATE, fmin=20.0, fmax=7600.0):
    def hz_to_mel(f):
        return 2595.0 * np.log10(1.0 + f / 700.0)

    def mel_to_hz(m):
        return 700.0 * (10.0 ** (m / 2595.0) - 1.0)

    pts = mel_to_hz(np.linspace(hz_to_mel(fmin), hz_to_mel(fmax), n_mels + 2))
    freqs = np.linspace(0, sr / 2, n_fft // 2 + 1)
    fb = np.zeros((n_mels, len(freqs)), dtype=np.float32)
    for i in range(n_mels):
        lo, mid, hi = pts[i : i + 3]
        fb[i] = np.maximum(0, np.minimum((freqs - lo) / (mid - lo), (hi - freqs) / (hi - mid)))
    return torch.from_numpy(fb)


class WavFolder(Dataset):
    def __init__(self, root, words):
        self.files = []
        for label, w in enumerate(words):
            for p in sorted(Path(root, w).glob("*.wav")):
                self.files.append((p, label))
        self.fb = mel_filterbank()
        self.window = torch.hann_window(N_FFT)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, label = self.files[i]
        sr, wav = wavfile.read(path)
        if sr != SAMPLE_RATE:
            raise ValueError(f"{path}: expected {SAMPLE_RATE} Hz, got {sr}")
        wav = torch.from_numpy(wav.astype(np.float32) / 32768.0)
        wav = nn.functional.pad(wav[:SAMPLE_RATE], (0, max(0, SAMPLE_RATE - len(wav))))
        spec = torch.stft(wav, N_FFT, HOP, window=self.window, return_complex=True).abs() ** 2
        mel = torch.log(self.fb @ spec + 1e-6)
        return (mel - mel.mean()) / (mel.std() + 1e-5), label


class KWSNet(nn.Module):
    def __init__(self, n_words, width=48):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(N_MELS, width, 5, stride=2, padding=2), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv1d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
        )
        self.out = nn.Linear(width, n_words)

    def forward(self, mel):
        return self.out(self.conv(mel).mean(-1))


def train_one_epoch(model, loader, optimizer, accum, device):
    model.train()
    n_batches = len(loader)
    total = 0.0
    optimizer.zero_grad()
    for i, (mel, y) in enumerate(loader):
        mel, y = mel.to(device), y.to(device)
        loss = nn.functional.cross_entropy(model(mel), y)
        loss.backward()
        total += loss.item()
        if (i + 1) % accum == 0 or (i + 1) == n_batches:
            optimizer.step()
            optimizer.zero_grad()
    return total / n_batches


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    correct = total = 0
    for mel, y in loader:
        pred = model(mel.to(device)).argmax(1).cpu()
        correct += (pred == y).sum().item()
        total += len(y)
    return correct / max(1, total)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--words", nargs="+", default=["yes", "no", "up", "down"])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--accum", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--ckpt", type=Path, default=Path("kws.pt"))
    args = parser.parse_args()

    torch.manual_seed(7)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    train_ds = WavFolder(args.root / "train", args.words)
    val_ds = WavFolder(args.root / "test", args.words)
    log.info("%d training clips, %d test clips", len(train_ds), len(val_ds))
    train_dl = DataLoader(train_ds, batch_size=args.micro_batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, batch_size=32)

    model = KWSNet(len(args.words)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_dl, optimizer, args.accum, device)
        log.info("epoch %d loss %.4f acc %.3f", epoch, loss, validate(model, val_dl, device))
    torch.save(model.state_dict(), args.ckpt)


if __name__ == "__main__":
    main()
