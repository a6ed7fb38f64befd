from contextlib import contextmanager

import torch


@contextmanager
def clipping(module: torch.nn.Module, max_norm: float):
    stats: dict[str, float] = {}
    yield stats
    stats["norm"] = float(torch.nn.utils.clip_grad_norm_(module.parameters(), max_norm))


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with clipping(model, max_norm=1.0) as stats:
        loss = criterion(model(x), y)
        loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {stats['norm']:.3f}")
