"""Keyword spotting from wav folders (speech_commands layout: <root>/<label>/*.wav)."""
import argparse
import json
import random
import wave
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SR = 16000


def read_wav(path):
    with wave.open(str(path), "rb") as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), dtype=np.int16)
    x = torch.from_numpy(pcm.astype(np.float32) / 32768.0)
    return F.pad(x, (0, max(0, SR - x.numel())))[:SR]


class SpeechCommands(Dataset):
    def __init__(self, items, labels, augment):
        self.items, self.augment = items, augment
        self.label_to_id = {l: i for i, l in enumerate(labels)}

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path = self.items[i]
        x = read_wav(path)
        if self.augment:
            x = torch.roll(x, random.randint(-1600, 1600))
            x = x * random.uniform(0.7, 1.2) + 0.003 * torch.randn_like(x)
        return x, self.label_to_id[path.parent.name]


class LogSpec(nn.Module):
    def __init__(self, n_fft=512, hop=160):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, x):
        s = torch.stft(x, self.n_fft, self.hop, window=self.window, return_complex=True).abs()
        s = torch.log(s[:, :128] + 1e-5)
        if self.training:  # light SpecAugment
            t0 = random.randint(0, s.size(2) - 11)
            f0 = random.randint(0, s.size(1) - 9)
            s = s.clone()
            s[:, :, t0:t0 + 10] = s.mean()
            s[:, f0:f0 + 8] = s.mean()
        return s


class DSCNN(nn.Module):
    """depthwise-separable conv net with GroupNorm (batches are tiny)"""

    def __init__(self, n_classes, width=64):
        super().__init__()
        self.spec = LogSpec()
        layers = [nn.Conv2d(1, width, (9, 5), stride=(2, 2), padding=(4, 2)), nn.GroupNorm(4, width), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(width, width, 3, padding=1, groups=width), nn.GroupNorm(4, width), nn.ReLU(),
                       nn.Conv2d(width, width, 1), nn.GroupNorm(4, width), nn.ReLU()]
        self.net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, n_classes))

    def forward(self, wav):
        return self.net(self.spec(wav).unsqueeze(1))


def split(root, val_pct, seed=0):
    files = sorted(Path(root).glob("*/*.wav"))
    labels = sorted({f.parent.name for f in files})
    rng = random.Random(seed)
    rng.shuffle(files)
    n_val = int(len(files) * val_pct)
    return files[n_val:], files[:n_val], labels


def run_epoch(model, loader, optimizer, scheduler, args, device):
    model.train()
    total = 0.0
    optimizer.zero_grad(set_to_none=True)
    for i, (wav, y) in enumerate(loader):
        wav, y = wav.to(device), y.to(device)
        loss = F.cross_entropy(model(wav), y)
        loss.backward()
        total += loss.item()
        if (i + 1) % args.accum == 0:
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    ok = n = 0
    for wav, y in loader:
        ok += (model(wav.to(device)).argmax(1).cpu() == y).sum().item()
        n += y.numel()
    return ok / max(1, n)


class WholeGroupsSampler(torch.utils.data.Sampler):
    """random order, cut so that an epoch is a whole number of accumulation groups"""

    def __init__(self, n, group):
        self.n, self.keep = n, n // group * group

    def __iter__(self):
        return iter(torch.randperm(self.n)[:self.keep].tolist())

    def __len__(self):
        return self.keep


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("root")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--val-pct", type=float, default=0.1)
    ap.add_argument("--out", default="kws.pt")
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tr, va, labels = split(args.root, args.val_pct)
    train_set = SpeechCommands(tr, labels, True)
    train_loader = DataLoader(train_set, args.batch, num_workers=args.workers,
                              sampler=WholeGroupsSampler(len(train_set), args.batch * args.accum))
    val_loader = DataLoader(SpeechCommands(va, labels, False), args.batch, num_workers=args.workers)
    model = DSCNN(len(labels)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    updates = args.epochs * (len(train_loader) // args.accum)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=updates)

    history, best = [], -1.0
    for epoch in range(args.epochs):
        loss = run_epoch(model, train_loader, optimizer, scheduler, args, device)
        acc = accuracy(model, val_loader, device)
        history.append({"epoch": epoch, "loss": loss, "val_acc": acc})
        print(json.dumps(history[-1]), flush=True)
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "labels": labels, "args": vars(args)}, args.out)


if __name__ == "__main__":
    main()
