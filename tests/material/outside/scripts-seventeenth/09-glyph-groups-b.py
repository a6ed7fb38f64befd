import logging
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

import numpy as np
import torch
from torch import nn

log = logging.getLogger("glyphs")
DATA = Path(__file__).parent / "data"


@dataclass
class TrainCfg:
    lr: float = 3e-3
    wd: float = 0.1
    clip: float = 0.8
    warm: int = 10
    epochs: int = 4
    bs: int = 32
    accum: int = 2
    dims: tuple[int, int] = field(default=(144, 40))


class Block(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))).square())


class PatchMixer(nn.Module):
    """Residual MLP on the raw pixels. Everything in here is trained."""

    def __init__(self, cfg: TrainCfg) -> None:
        super().__init__()
        pixels, d = cfg.dims
        self.inp = nn.Linear(pixels, d)
        self.blocks = nn.Sequential(Block(d), Block(d))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.inp(x))))


def param_groups(model: nn.Module, wd: float) -> list[dict]:
    """Matrices are decayed, vectors (biases, LayerNorm gains) are not."""
    decay: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for name, p in model.named_parameters():
        if p.ndim >= 2:
            decay.append(p)
        else:
            plain.append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}]


def batches(x: torch.Tensor, y: torch.Tensor, bs: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for idx in torch.randperm(len(x)).split(bs):
        if len(idx) == bs:
            yield x[idx], y[idx]


def fit(cfg: TrainCfg) -> nn.Module:
    torch.manual_seed(8)
    x = torch.from_numpy(np.load(DATA / "glyphs.npy")).float().flatten(1) / 127.5 - 1
    y = torch.from_numpy(np.load(DATA / "glyphs_y.npy"))
    model = PatchMixer(cfg)
    optimizer = torch.optim.AdamW(param_groups(model, cfg.wd), lr=cfg.lr, betas=(0.9, 0.95))
    updates = len(x) // cfg.bs // cfg.accum * cfg.epochs

    def shape(u: int) -> float:
        if u < cfg.warm:
            return (u + 1) / cfg.warm
        return 0.5 * (1 + math.cos(math.pi * (u - cfg.warm) / max(1, updates - cfg.warm)))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, shape)
    for epoch in range(cfg.epochs):
        seen: list[float] = []
        for i, (xb, yb) in enumerate(batches(x, y, cfg.bs), start=1):
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.div(cfg.accum).backward()
            seen.append(loss.item())
            if i % cfg.accum == 0:
                tracked = [p for g in optimizer.param_groups for p in g["params"]]
                norm = nn.utils.clip_grad_norm_(tracked, cfg.clip)
                optimizer.step()
                scheduler.step()
                model.zero_grad()
        log.info("epoch %d loss %.4f norm %.3f lr %.2e", epoch, sum(seen) / len(seen), norm,
                 scheduler.get_last_lr()[0])
    return model


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    net = fit(TrainCfg())
    log.info("fingerprint %.5f", sum(p.detach().double().norm() for p in net.parameters()))
