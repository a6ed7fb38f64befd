"""Keyword spotting on pre-cut clips.

data dir:  train_x.npy (N, T) float32 waveforms, train_y.npy (N,) ints, valid_x.npy, valid_y.npy
"""
import argparse
import logging
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger(__name__)


class LogSpec(nn.Module):
    def __init__(self, n_fft=256, hop=128):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs()
        return torch.log1p(spec * 10)


class KWSNet(nn.Module):
    def __init__(self, n_classes, n_freq=129, width=64):
        super().__init__()
        self.proj = nn.Conv1d(n_freq, width, 1)
        self.convs = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(8, width), nn.ReLU(), nn.Conv1d(width, width, 3, padding=d, dilation=d))
            for d in (1, 2, 4))
        self.head = nn.Linear(width, n_classes)

    def forward(self, feats):
        h = self.proj(feats)
        for conv in self.convs:
            h = h + conv(h)
        return self.head(h.mean(-1))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.amp_dtype = torch.float16 if self.device.type == "cuda" else torch.bfloat16
        root = Path(args.data_dir)
        self.train_loader = self._loader(root, "train", shuffle=True)
        self.valid_loader = self._loader(root, "valid", shuffle=False)
        n_classes = int(self.train_loader.dataset.tensors[1].max()) + 1

        self.frontend = LogSpec().to(self.device)
        self.model = KWSNet(n_classes).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9,
                                         nesterov=True, weight_decay=1e-4)
        self.updates_per_epoch = -(-len(self.train_loader) // args.grad_accum)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=args.lr, total_steps=self.updates_per_epoch * args.epochs,
            pct_start=0.2, cycle_momentum=False)
        self.scaler = torch.amp.GradScaler(self.device.type, init_scale=2.0 ** 12)
        self.epoch = 0
        self.ckpt = Path(args.output) / "checkpoint.pt"
        self.ckpt.parent.mkdir(parents=True, exist_ok=True)
        if args.resume:
            self.load()

    def _loader(self, root, split, shuffle):
        x = torch.from_numpy(np.load(root / f"{split}_x.npy")).float()
        y = torch.from_numpy(np.load(root / f"{split}_y.npy")).long()
        return DataLoader(TensorDataset(x, y), batch_size=self.args.batch_size, shuffle=shuffle,
                          drop_last=shuffle)

    def save(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict(), "scaler": self.scaler.state_dict(),
                    "epoch": self.epoch}, self.ckpt)

    def load(self):
        state = torch.load(self.ckpt, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        self.epoch = state["epoch"]
        logger.info("resumed at epoch %d", self.epoch)

    def forward_loss(self, wav, label):
        feats = self.frontend(wav)
        with torch.autocast(self.device.type, dtype=self.amp_dtype, enabled=self.args.amp):
            logits = self.model(feats)
        return F.cross_entropy(logits.float(), label), logits

    def update(self):
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        if self.scaler.get_scale() >= scale:  # step was not skipped
            self.scheduler.step()
        return norm

    def train_epoch(self):
        self.model.train()
        n = len(self.train_loader)
        total = 0.0
        for i, (wav, label) in enumerate(self.train_loader):
            # the last window of the epoch may be shorter
            window_start = i - i % self.args.grad_accum
            window = min(self.args.grad_accum, n - window_start)
            loss, _ = self.forward_loss(wav.to(self.device), label.to(self.device))
            self.scaler.scale(loss / window).backward()
            total += loss.item()
            if i + 1 == window_start + window:
                self.update()
        return total / n

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = count = 0
        for wav, label in self.valid_loader:
            _, logits = self.forward_loss(wav.to(self.device), label.to(self.device))
            hits += (logits.argmax(-1).cpu() == label).sum().item()
            count += len(label)
        return hits / count

    def fit(self):
        while self.epoch < self.args.epochs:
            loss = self.train_epoch()
            self.epoch += 1
            acc = self.validate()
            logger.info("epoch %d loss %.4f acc %.3f lr %.4f scale %g", self.epoch, loss, acc,
                        self.optimizer.param_groups[0]["lr"], self.scaler.get_scale())
            self.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--output", default="runs/kws")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--grad-accum", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--max-grad-norm", type=float, default=2.0)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")
    torch.manual_seed(args.seed)
    Trainer(args).fit()


if __name__ == "__main__":
    main()
