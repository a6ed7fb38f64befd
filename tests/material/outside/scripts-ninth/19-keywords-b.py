"""Keyword spotting: log-mel + CRNN.  wav files in root/<word>/*.wav, 16-bit mono."""
import argparse
import glob
import math
import os
import wave

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


def mel_filters(sr, n_fft, n_mels):
    hz2mel = lambda f: 2595.0 * math.log10(1 + f / 700.0)
    mels = torch.linspace(hz2mel(20.0), hz2mel(sr / 2), n_mels + 2)
    hz = 700.0 * (10 ** (mels / 2595.0) - 1)
    bins = torch.linspace(0, sr / 2, n_fft // 2 + 1)
    up = (bins[None] - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    down = (hz[2:, None] - bins[None]) / (hz[2:] - hz[1:-1])[:, None]
    return torch.minimum(up, down).clamp_min(0)


class LogMel(nn.Module):
    def __init__(self, sr, n_fft=400, hop=160, n_mels=40):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("fb", mel_filters(sr, n_fft, n_mels))

    def forward(self, wav):
        s = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs() ** 2
        m = torch.log(self.fb @ s + 1e-6)
        return (m - m.mean((1, 2), keepdim=True)) / (m.std((1, 2), keepdim=True) + 1e-5)


class Keywords(Dataset):
    def __init__(self, root, sr, seconds):
        self.words = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
        self.files = [(f, i) for i, w in enumerate(self.words)
                      for f in sorted(glob.glob(os.path.join(root, w, "*.wav")))]
        self.n = int(sr * seconds)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, y = self.files[i]
        with wave.open(path) as w:
            x = np.frombuffer(w.readframes(w.getnframes()), dtype=np.int16).astype(np.float32) / 32768.0
        x = torch.from_numpy(x)[:self.n]
        return F.pad(x, (0, self.n - len(x))), y


class CRNN(nn.Module):
    def __init__(self, n_mels, n_classes, hidden=64):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(n_mels, hidden, 5, 2, 2), nn.ReLU(),
                                  nn.Conv1d(hidden, hidden, 5, 2, 2), nn.ReLU())
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, m):
        h, _ = self.rnn(self.conv(m).transpose(1, 2))
        return self.fc(h.mean(1))


class Trainer:
    def __init__(self, model, frontend, lr, max_norm, device):
        self.model, self.frontend = model.to(device), frontend.to(device)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.max_norm, self.device = max_norm, device
        self.bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported()

    def _logits(self, wav):
        feats = self.frontend(wav.to(self.device))
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            return self.model(feats).float()

    def train_epoch(self, loader):
        self.model.train()
        tot = n = clipped = 0
        for wav, y in loader:
            loss = F.cross_entropy(self._logits(wav), y.to(self.device))
            self.opt.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
            self.opt.step()
            clipped += int(norm > self.max_norm)
            tot += loss.item() * len(y)
            n += len(y)
        return tot / n, clipped / len(loader)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        ok = n = 0
        for wav, y in loader:
            ok += (self._logits(wav).argmax(1).cpu() == y).sum().item()
            n += len(y)
        return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("root")
    ap.add_argument("--sr", type=int, default=16000)
    ap.add_argument("--seconds", type=float, default=1.0)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--max-norm", type=float, default=0.5)
    ap.add_argument("--out", default="kws.pt")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = Keywords(args.root, args.sr, args.seconds)
    n_val = len(data) // 5
    train, val = random_split(data, [len(data) - n_val, n_val], torch.Generator().manual_seed(0))
    train = DataLoader(train, args.batch, shuffle=True, drop_last=True)
    val = DataLoader(val, args.batch)

    t = Trainer(CRNN(40, len(data.words)), LogMel(args.sr), args.lr, args.max_norm, device)
    sched = torch.optim.lr_scheduler.StepLR(t.opt, step_size=max(1, args.epochs // 3), gamma=0.3)
    best = -1.0
    for e in range(args.epochs):
        loss, frac = t.train_epoch(train)
        sched.step()
        acc = t.evaluate(val)
        print(f"{e:3d} loss {loss:.4f} val {acc:.4f} clipped {frac:.2f}")
        if acc > best:
            best = acc
            torch.save({"model": t.model.state_dict(), "words": data.words}, args.out)


if __name__ == "__main__":
    main()
