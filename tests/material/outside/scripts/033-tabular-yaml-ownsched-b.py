"""Tabular classifier.

usage: python train.py [config.yaml]
"""
import logging
import math
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import yaml

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("tabular")

DEFAULT = {
    "data": {"rows": 3000, "features": 12, "seed": 0},
    "model": {"hidden": [48, 48], "dropout": 0.1},
    "optim": {"lr": 0.2, "lr_end": 0.002, "warmup": 10, "momentum": 0.9},
    "train": {"epochs": 4, "micro_batch": 25, "accumulate": 4, "seed": 1},
}


def merge(base, extra):
    return {k: merge(v, extra.get(k, {})) if isinstance(v, dict) else extra.get(k, v) for k, v in base.items()}


def read_config():
    path = sys.argv[1] if len(sys.argv) > 1 else "config.yaml"
    extra = {}
    if os.path.exists(path):
        with open(path) as f:
            extra = yaml.safe_load(f) or {}
    return merge(DEFAULT, extra)


def synth(rows, features, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)).astype("float32")
    score = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * x[:, 3] ** 2 - 0.5
    y = (score + 0.3 * rng.normal(size=rows) > 0).astype("int64")
    return torch.from_numpy(x), torch.from_numpy(y)


def build(cfg, n_in):
    layers, d = [], n_in
    for h in cfg["hidden"]:
        layers += [nn.Linear(d, h), nn.ReLU(), nn.Dropout(cfg["dropout"])]
        d = h
    return nn.Sequential(*layers, nn.Linear(d, 2))


class WarmupCosine:
    """Learning rate for `total` optimizer updates."""

    def __init__(self, optimizer, lr, lr_end, warmup, total):
        self.optimizer, self.lr, self.lr_end = optimizer, lr, lr_end
        self.warmup, self.total, self.n = warmup, total, 0
        self.set()

    def value(self):
        if self.n < self.warmup:
            return self.lr * (self.n + 1) / self.warmup
        p = min(1.0, (self.n - self.warmup) / max(1, self.total - self.warmup))
        return self.lr_end + 0.5 * (self.lr - self.lr_end) * (1 + math.cos(math.pi * p))

    def set(self):
        for group in self.optimizer.param_groups:
            group["lr"] = self.value()

    def advance(self):
        self.n += 1
        self.set()


def main():
    cfg = read_config()
    t = cfg["train"]
    torch.manual_seed(t["seed"])
    x, y = synth(**cfg["data"])
    cut = int(0.8 * len(x))
    model = build(cfg["model"], x.size(1))
    opt = torch.optim.SGD(model.parameters(), lr=cfg["optim"]["lr"], momentum=cfg["optim"]["momentum"])
    per_epoch = cut // (t["micro_batch"] * t["accumulate"])
    sched = WarmupCosine(opt, cfg["optim"]["lr"], cfg["optim"]["lr_end"], cfg["optim"]["warmup"],
                         total=per_epoch * t["epochs"])
    loss_fn = nn.CrossEntropyLoss()

    for epoch in range(t["epochs"]):
        model.train()
        micro = torch.randperm(cut).split(t["micro_batch"])[:per_epoch * t["accumulate"]]
        running = 0.0
        opt.zero_grad()
        for i, idx in enumerate(micro, 1):
            loss = loss_fn(model(x[idx]), y[idx])
            (loss / t["accumulate"]).backward()
            running += loss.item()
            if i % t["accumulate"] == 0:
                opt.step()
                opt.zero_grad()
                sched.advance()
        model.eval()
        with torch.no_grad():
            acc = (model(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
        log.info("epoch %d loss %.4f acc %.3f lr %.4f", epoch, running / len(micro), acc, opt.param_groups[0]["lr"])


if __name__ == "__main__":
    main()
