import argparse
import csv
import logging
import math
import wave
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("kws")


@dataclass
class Config:
    manifest: str = "train.csv"
    val_manifest: str = "val.csv"
    sample_rate: int = 16000
    n_fft: int = 400
    hop: int = 160
    n_mels: int = 40
    channels: int = 64
    batch_size: int = 64
    accum_steps: int = 4
    epochs: int = 30
    lr: float = 1e-3
    clip: float = 5.0
    out: str = "kws.pt"


def mel_filterbank(n_mels, n_fft, sr):
    mel = lambda f: 2595 * math.log10(1 + f / 700)
    inv = lambda m: 700 * (10 ** (m / 2595) - 1)
    pts = torch.tensor([inv(m) for m in np.linspace(mel(20), mel(sr / 2), n_mels + 2)])
    freqs = torch.linspace(0, sr / 2, n_fft // 2 + 1)
    up = (freqs[None] - pts[:-2, None]) / (pts[1:-1] - pts[:-2])[:, None]
    down = (pts[2:, None] - freqs[None]) / (pts[2:] - pts[1:-1])[:, None]
    return torch.minimum(up, down).clamp(min=0).float()


class Keywords(Dataset):
    """CSV manifest with the columns path,label; one-second 16 bit mono wav files."""

    def __init__(self, manifest, cfg, labels=None):
        with open(manifest) as f:
            self.rows = [(r["path"], r["label"]) for r in csv.DictReader(f)]
        self.base = Path(manifest).parent
        self.labels = labels or sorted({l for _, l in self.rows})
        self.cfg = cfg

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        path, label = self.rows[i]
        with wave.open(str(self.base / path)) as w:
            pcm = np.frombuffer(w.readframes(w.getnframes()), dtype=np.int16).astype(np.float32) / 32768
        x = torch.zeros(self.cfg.sample_rate)
        n = min(len(pcm), len(x))
        x[:n] = torch.from_numpy(pcm[:n])
        return x, self.labels.index(label)


class DSConvNet(nn.Module):
    def __init__(self, cfg, n_classes):
        super().__init__()
        self.cfg = cfg
        self.register_buffer("fb", mel_filterbank(cfg.n_mels, cfg.n_fft, cfg.sample_rate))
        self.register_buffer("window", torch.hann_window(cfg.n_fft))
        c = cfg.channels
        self.stem = nn.Sequential(nn.Conv1d(cfg.n_mels, c, 5, 2, 2), nn.GroupNorm(8, c), nn.ReLU())
        self.blocks = nn.Sequential(*[
            nn.Sequential(nn.Conv1d(c, c, 9, padding=4, groups=c), nn.Conv1d(c, c, 1), nn.GroupNorm(8, c), nn.ReLU())
            for _ in range(4)
        ])
        self.head = nn.Linear(c, n_classes)

    def forward(self, wav):
        spec = torch.stft(wav, self.cfg.n_fft, self.cfg.hop, window=self.window, return_complex=True).abs().pow(2)
        feats = torch.log(self.fb @ spec + 1e-6)
        feats = feats - feats.mean(-1, keepdim=True)
        return self.head(self.blocks(self.stem(feats)).mean(-1))


def train_epoch(model, loader, optimizer, cfg, device):
    model.train()
    n_groups = len(loader) // cfg.accum_steps
    running = 0.0
    optimizer.zero_grad()
    for step, (wav, y) in enumerate(loader):
        if step == n_groups * cfg.accum_steps:
            break
        loss = F.cross_entropy(model(wav.to(device)), y.to(device))
        (loss / cfg.accum_steps).backward()
        running += loss.item()
        if (step + 1) % cfg.accum_steps == 0:
            nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            optimizer.step()
            optimizer.zero_grad()
    return running / max(1, n_groups * cfg.accum_steps)


@torch.inference_mode()
def accuracy(model, loader, device):
    model.eval()
    ok = n = 0
    for wav, y in loader:
        ok += (model(wav.to(device)).argmax(-1).cpu() == y).sum().item()
        n += len(y)
    return ok / n


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    ap = argparse.ArgumentParser()
    for k, v in asdict(Config()).items():
        ap.add_argument(f"--{k}", type=type(v), default=v)
    cfg = Config(**vars(ap.parse_args()))
    log.info("%s", cfg)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train = Keywords(cfg.manifest, cfg)
    val = Keywords(cfg.val_manifest, cfg, train.labels)
    train_dl = DataLoader(train, cfg.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val, 256)

    model = DSConvNet(cfg, len(train.labels)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=3)
    best = 0.0
    for epoch in range(cfg.epochs):
        loss = train_epoch(model, train_dl, optimizer, cfg, device)
        acc = accuracy(model, val_dl, device)
        scheduler.step(acc)
        log.info("epoch %d loss %.4f acc %.4f lr %.2e", epoch, loss, acc, optimizer.param_groups[0]["lr"])
        if acc >= best:
            best = acc
            torch.save({"model": model.state_dict(), "labels": train.labels, "cfg": asdict(cfg)}, cfg.out)


if __name__ == "__main__":
    main()
