"""Keyword spotting on one-second 16 kHz wav clips (speech-commands layout)."""
import argparse
import math
import wave
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def read_wav(path, length=16000):
    with wave.open(str(path), "rb") as w:
        raw = np.frombuffer(w.readframes(w.getnframes()), dtype=np.int16)
    x = torch.from_numpy(raw.astype(np.float32) / 32768.0)
    if x.numel() < length:
        x = F.pad(x, (0, length - x.numel()))
    return x[:length]


class KeywordDataset(Dataset):
    def __init__(self, root, listing, classes, train):
        self.root = Path(root)
        self.files = [ln.strip() for ln in open(self.root / listing) if ln.strip()]
        self.cls = {c: i for i, c in enumerate(classes)}
        self.train = train

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        rel = self.files[i]
        wav = read_wav(self.root / rel)
        if self.train:
            shift = int(torch.randint(-1600, 1601, (1,)))
            wav = torch.roll(wav, shift)
            wav = wav + 0.003 * torch.randn_like(wav)
        return wav, self.cls[rel.split("/")[0]]


class LogSpec(nn.Module):
    def __init__(self, n_fft=512, hop=160, n_bands=64):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        freqs = n_fft // 2 + 1
        edges = torch.linspace(math.log(2), math.log(freqs - 1), n_bands + 1).exp().round().long()
        fb = torch.zeros(freqs, n_bands)
        for b in range(n_bands):
            lo = int(edges[b])
            hi = max(int(edges[b + 1]), lo + 1)
            fb[lo:hi, b] = 1.0 / (hi - lo)
        self.register_buffer("fb", fb)

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs().pow(2)
        return torch.log(spec.transpose(1, 2) @ self.fb + 1e-6)


class KWSNet(nn.Module):
    def __init__(self, n_classes, ch=96):
        super().__init__()
        self.front = LogSpec()
        self.norm = nn.LayerNorm(64)
        layers, cin = [], 64
        for dil in (1, 2, 4, 8):
            layers += [nn.Conv1d(cin, ch, 5, padding=2 * dil, dilation=dil), nn.GroupNorm(8, ch), nn.SiLU()]
            cin = ch
        self.tcn = nn.Sequential(*layers)
        self.head = nn.Linear(ch, n_classes)

    def forward(self, wav):
        x = self.norm(self.front(wav)).transpose(1, 2)
        return self.head(self.tcn(x).mean(-1))


def run_validation(model, loader, device):
    model.eval()
    hit = n = 0
    with torch.no_grad():
        for wav, y in loader:
            hit += (model(wav.to(device)).argmax(-1).cpu() == y).sum().item()
            n += len(y)
    return hit / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--accum", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--max-lr", type=float, default=3e-3)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--ckpt", default="kws.pt")
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    classes = sorted(d.name for d in Path(args.root).iterdir() if d.is_dir() and not d.name.startswith("_"))
    train_ds = KeywordDataset(args.root, "training_list.txt", classes, True)
    val_ds = KeywordDataset(args.root, "validation_list.txt", classes, False)
    train_dl = DataLoader(train_ds, args.batch, shuffle=True, num_workers=args.workers, drop_last=True)
    val_dl = DataLoader(val_ds, args.batch, num_workers=args.workers)

    model = KWSNet(len(classes)).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.max_lr, weight_decay=0.01)
    steps_per_epoch = len(train_dl) // args.accum
    sched = torch.optim.lr_scheduler.OneCycleLR(
        opt, max_lr=args.max_lr, total_steps=args.epochs * len(train_dl), pct_start=0.2
    )

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        opt.zero_grad()
        total = 0.0
        for i, (wav, y) in enumerate(train_dl):
            if i >= steps_per_epoch * args.accum:
                break
            loss = F.cross_entropy(model(wav.to(device)), y.to(device))
            (loss / args.accum).backward()
            total += loss.item()
            if (i + 1) % args.accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                opt.step()
                sched.step()
                opt.zero_grad()
        acc = run_validation(model, val_dl, device)
        print(f"[{epoch + 1}/{args.epochs}] loss={total / (steps_per_epoch * args.accum):.4f} "
              f"acc={acc:.4f} lr={opt.param_groups[0]['lr']:.2e}")
        if acc >= best:
            best = acc
            torch.save({"state_dict": model.state_dict(), "classes": classes, "epoch": epoch}, args.ckpt)


if __name__ == "__main__":
    main()
