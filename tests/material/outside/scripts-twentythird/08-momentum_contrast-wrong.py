"""Momentum-contrast pre-training on synthetic 1-D signals, with a linear probe at the end."""
import copy
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    n_signals: int = 768
    length: int = 64
    n_classes: int = 4
    dim: int = 32
    queue_size: int = 512
    batch_size: int = 64
    epochs: int = 8
    lr: float = 0.05
    momentum: float = 0.9
    key_momentum: float = 0.97
    temperature: float = 0.2
    seed: int = 5


def make_signals(cfg):
    t = torch.linspace(0, 1, cfg.length)
    y = torch.randint(0, cfg.n_classes, (cfg.n_signals,))
    freq = 2.0 + 2.0 * y[:, None] + 0.3 * torch.randn(cfg.n_signals, 1)
    phase = 2 * math.pi * torch.rand(cfg.n_signals, 1)
    x = torch.sin(2 * math.pi * freq * t + phase)
    x[y % 2 == 1] = x[y % 2 == 1].sign()
    return x + 0.1 * torch.randn_like(x), y


def augment(x):
    shift = int(torch.randint(0, x.size(1), (1,)))
    x = torch.roll(x, shift, dims=1)
    scale = 0.7 + 0.6 * torch.rand(x.size(0), 1)
    return x * scale + 0.15 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.ReLU(), nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.ReLU()
        )
        self.proj = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, dim))

    def features(self, x):
        return self.conv(x.unsqueeze(1)).mean(-1)

    def forward(self, x):
        return F.normalize(self.proj(self.features(x)), dim=-1)


class MoCo(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.m, self.T = cfg.key_momentum, cfg.temperature
        self.encoder_q = Encoder(cfg.dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(cfg.queue_size, cfg.dim), dim=1))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def update_key_encoder(self):
        for pq, pk in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            pk = pk * self.m + pq * (1.0 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        i, n = int(self.ptr), keys.size(0)
        self.queue[i : i + n] = keys
        self.ptr[0] = (i + n) % self.queue.size(0)

    def forward(self, x_q, x_k):
        q = self.encoder_q(x_q)
        with torch.no_grad():
            self.update_key_encoder()
            k = self.encoder_k(x_k)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().t()
        logits = torch.cat([pos, neg], 1) / self.T
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))
        self.enqueue(k)
        return loss


def linear_probe(encoder, x, y, n_classes, steps=150):
    with torch.no_grad():
        f = encoder.features(x)
        f = (f - f.mean(0)) / (f.std(0) + 1e-6)
    head = nn.Linear(f.size(1), n_classes).to(f.device)
    opt = torch.optim.Adam(head.parameters(), lr=0.05)
    half = len(f) // 2
    for _ in range(steps):
        opt.zero_grad()
        F.cross_entropy(head(f[:half]), y[:half]).backward()
        opt.step()
    return (head(f[half:]).argmax(1) == y[half:]).float().mean().item()


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y = make_signals(cfg)
    model = MoCo(cfg).to(device)
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=cfg.lr, momentum=cfg.momentum, weight_decay=1e-4)
    steps = cfg.epochs * (len(x) // cfg.batch_size)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)

    for epoch in range(cfg.epochs):
        model.train()
        perm = torch.randperm(len(x))
        total = 0.0
        for b in range(len(x) // cfg.batch_size):
            xb = x[perm[b * cfg.batch_size : (b + 1) * cfg.batch_size]]
            loss = model(augment(xb).to(device), augment(xb).to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / (len(x) // cfg.batch_size):.4f}")

    acc = linear_probe(model.encoder_q, x.to(device), y.to(device), cfg.n_classes)
    print(f"linear probe accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
