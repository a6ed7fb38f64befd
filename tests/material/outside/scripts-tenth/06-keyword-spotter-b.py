"""Keyword spotting on variable-length wav files.

  data/words/<label>/<name>.wav   16-bit mono
A small transformer over log-mel frames with masked mean pooling.
"""
import argparse
import math
import os
import wave

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


def mel_filters(sr, n_fft, n_mels):
    hz = np.linspace(0, sr / 2, n_fft // 2 + 1)
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    pts = 700 * (10 ** (np.linspace(0, to_mel(sr / 2), n_mels + 2) / 2595) - 1)
    fb = np.zeros((n_mels, len(hz)), dtype=np.float32)
    for m in range(n_mels):
        up = (hz - pts[m]) / (pts[m + 1] - pts[m])
        down = (pts[m + 2] - hz) / (pts[m + 2] - pts[m + 1])
        fb[m] = np.maximum(0, np.minimum(up, down))
    return torch.from_numpy(fb)


class Words(Dataset):
    def __init__(self, root, sr=16000, n_fft=512, hop=160, n_mels=40):
        self.labels = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
        self.items = [(os.path.join(root, l, f), i) for i, l in enumerate(self.labels)
                      for f in sorted(os.listdir(os.path.join(root, l))) if f.endswith(".wav")]
        self.n_fft, self.hop = n_fft, hop
        self.fb = mel_filters(sr, n_fft, n_mels)
        self.window = torch.hann_window(n_fft)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        with wave.open(path) as w:
            pcm = np.frombuffer(w.readframes(w.getnframes()), dtype=np.int16)
        x = torch.from_numpy(pcm.astype(np.float32) / 32768)
        spec = torch.stft(x, self.n_fft, self.hop, window=self.window, return_complex=True).abs() ** 2
        logmel = (self.fb @ spec + 1e-6).log().T
        return (logmel - logmel.mean()) / (logmel.std() + 1e-5), label


def collate(batch):
    lengths = torch.tensor([len(x) for x, _ in batch])
    x = nn.utils.rnn.pad_sequence([x for x, _ in batch], batch_first=True)
    return x, lengths, torch.tensor([y for _, y in batch])


class SelfAttention(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.p = nn.Dropout(p)

    def forward(self, x, valid):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        score = q @ k.transpose(-1, -2) / math.sqrt(d // self.h)
        score = score.masked_fill(valid[:, None, None, :], -1e4)
        att = self.p(score.softmax(-1))
        return self.out((att @ v).transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = SelfAttention(d, h, p)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(p), nn.Linear(4 * d, d), nn.Dropout(p))

    def forward(self, x, valid):
        x = x + self.att(self.n1(x), valid)
        return x + self.ff(self.n2(x))


class Spotter(nn.Module):
    def __init__(self, n_mels, n_out, d=96, h=4, layers=3, p=0.1):
        super().__init__()
        self.inp = nn.Linear(n_mels, d)
        self.layers = nn.ModuleList(Layer(d, h, p) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, n_out)
        self.d = d

    def position(self, t, device):
        pos = torch.arange(t, device=device)[:, None]
        div = torch.exp(torch.arange(0, self.d, 2, device=device) * (-math.log(1e4) / self.d))
        return torch.cat([torch.sin(pos * div), torch.cos(pos * div)], 1)

    def forward(self, x, lengths):
        valid = torch.arange(x.size(1), device=x.device)[None] < lengths[:, None]
        x = self.inp(x) + self.position(x.size(1), x.device)
        for layer in self.layers:
            x = layer(x, valid)
        m = valid[..., None].float()
        pooled = (self.norm(x) * m).sum(1) / m.sum(1)
        return self.head(pooled)


def run_epoch(model, loader, device, opt=None, sched=None):
    model.train(opt is not None)
    loss_sum = hits = n = 0
    with torch.set_grad_enabled(opt is not None):
        for x, lengths, y in loader:
            x, lengths, y = x.to(device), lengths.to(device), y.to(device)
            logits = model(x, lengths)
            loss = F.cross_entropy(logits, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
                sched.step()
            loss_sum += loss.item() * len(y)
            hits += (logits.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="data/words")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    ds = Words(a.root)
    n_val = max(1, len(ds) // 10)
    tr, va = random_split(ds, [len(ds) - n_val, n_val])
    tr = DataLoader(tr, a.batch, shuffle=True, collate_fn=collate)
    va = DataLoader(va, a.batch, collate_fn=collate)
    net = Spotter(40, len(ds.labels)).to(dev)
    optim = torch.optim.AdamW(net.parameters(), lr=a.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optim, a.lr, total_steps=a.epochs * len(tr))
    for ep in range(a.epochs):
        l, acc = run_epoch(net, tr, dev, optim, schedule)
        vl, vacc = run_epoch(net, va, dev)
        print(f"{ep:02d} train {l:.3f}/{acc:.3f} val {vl:.3f}/{vacc:.3f}")
    torch.save({"state": net.state_dict(), "labels": ds.labels}, "spotter.pt")
