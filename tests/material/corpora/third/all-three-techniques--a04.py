"""Mixed precision + accumulation + clipping, together.

Your version lacked scaler.unscale_(optimizer) before the clip. The order below is
    forward/backward of a window -> unscale once -> clip once -> scaler.step -> scaler.update -> clear
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Iterable, Iterator

import torch
from torch.amp import GradScaler, autocast


@dataclass(frozen=True)
class UpdateConfig:
    window: int = 4
    max_norm: float = 1.0
    eps: float = 1e-6


def windows(batches: Iterable, size: int) -> Iterator[list]:
    iterator = iter(batches)
    while chunk := list(islice(iterator, size)):
        yield chunk


@torch.no_grad()
def clip_by_global_norm(parameters: Iterable[torch.nn.Parameter], cfg: UpdateConfig) -> torch.Tensor:
    grads = [p.grad for p in parameters if p.grad is not None]
    per_tensor = torch._foreach_norm(grads, 2.0)
    total = torch.linalg.vector_norm(torch.stack(per_tensor))
    factor = torch.clamp(cfg.max_norm / (total + cfg.eps), max=1.0)
    torch._foreach_mul_(grads, factor)
    return total


cfg = UpdateConfig()
scaler = GradScaler("cuda")

for update, chunk in enumerate(windows(train_loader, cfg.window)):
    optimizer.zero_grad(set_to_none=True)

    for x, y in chunk:
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        # len(chunk) and not cfg.window: the last window of the epoch may be shorter
        scaler.scale(loss / len(chunk)).backward()

    scaler.unscale_(optimizer)
    norm = clip_by_global_norm(model.parameters(), cfg)
    scaler.step(optimizer)
    scaler.update()
    print(f"update {update:4d}  |g| = {norm.item():.4f}  scale = {scaler.get_scale():.0f}")
