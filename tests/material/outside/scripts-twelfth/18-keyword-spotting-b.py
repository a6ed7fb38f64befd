import argparse
import csv
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from scipy.io import wavfile
from torch.utils.data import DataLoader, Dataset, Subset


class Keywords(Dataset):
    def __init__(self, folder, rate=8000):
        self.folder, self.samples = Path(folder), rate
        with open(self.folder / "index.csv", newline="") as f:
            self.rows = list(csv.DictReader(f))
        self.words = sorted({r["word"] for r in self.rows})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        _, wav = wavfile.read(self.folder / self.rows[i]["path"])
        wav = wav[: self.samples].astype(np.float32) / 32768.0
        wav = np.pad(wav, (0, self.samples - len(wav)))
        return torch.from_numpy(wav), self.words.index(self.rows[i]["word"])


class LogSpec(nn.Module):
    def __init__(self, n_fft=256, hop=80, bands=40):
        super().__init__()
        self.n_fft, self.hop, self.bands = n_fft, hop, bands
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs()
        spec = nn.functional.adaptive_avg_pool1d(spec.transpose(1, 2), self.bands)
        feat = torch.log(spec + 1e-4)
        return (feat - feat.mean((1, 2), keepdim=True)) / (feat.std((1, 2), keepdim=True) + 1e-5)


class SpecAugment(nn.Module):
    def forward(self, x):
        if self.training:
            x = x.clone()
            t, f = random.randrange(x.size(1) - 10), random.randrange(x.size(2) - 5)
            x[:, t : t + 10] = 0
            x[:, :, f : f + 5] = 0
        return x


class KWSNet(nn.Module):
    def __init__(self, n_words, bands=40, hidden=48):
        super().__init__()
        self.front = nn.Sequential(LogSpec(bands=bands), SpecAugment())
        self.conv = nn.Sequential(
            nn.Conv1d(bands, hidden, 5, 2, 2), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(0.1)
        )
        self.gru = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.attn = nn.Linear(2 * hidden, 1)
        self.fc = nn.Linear(2 * hidden, n_words)

    def forward(self, wav):
        x = self.front(wav).transpose(1, 2)
        h, _ = self.gru(self.conv(x).transpose(1, 2))
        weight = torch.softmax(self.attn(h), dim=1)
        return torch.softmax(self.fc((weight * h).sum(1)), dim=1)


def run_epoch(model, loader, criterion, optimizer=None, clip=5.0):
    training = optimizer is not None
    model.train(training)
    loss_sum = correct = n = 0
    with torch.set_grad_enabled(training):
        for wav, y in loader:
            out = model(wav)
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
            loss_sum += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, correct / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/kws")
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    random.seed(5)
    torch.manual_seed(5)

    ds = Keywords(args.data)
    perm = torch.randperm(len(ds)).tolist()
    cut = int(0.8 * len(ds))
    train = DataLoader(Subset(ds, perm[:cut]), args.batch_size, shuffle=True)
    valid = DataLoader(Subset(ds, perm[cut:]), args.batch_size)

    model = KWSNet(len(ds.words))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)

    best = float("inf")
    for epoch in range(args.epochs):
        tr_loss, tr_acc = run_epoch(model, train, criterion, optimizer)
        va_loss, va_acc = run_epoch(model, valid, criterion)
        scheduler.step(va_loss)
        print(f"{epoch:02d} train {tr_loss:.3f}/{tr_acc:.3f} valid {va_loss:.3f}/{va_acc:.3f}")
        if va_loss < best:
            best = va_loss
            torch.save({"state": model.state_dict(), "words": ds.words}, "kws.pt")


if __name__ == "__main__":
    main()
