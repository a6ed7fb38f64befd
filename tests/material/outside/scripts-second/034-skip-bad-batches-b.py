"""Robust loop: skips batches with non-finite gradients."""
import logging

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")


def stream(n):
    g = torch.Generator().manual_seed(0)
    for i in range(n):
        x = torch.randn(16, 4, generator=g)
        y = x.sum(1, keepdim=True)
        if i in (5, 11):          # broken records
            x[3, 2] = float("inf")
        yield x, y


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    skipped = 0
    for i, (x, y) in enumerate(stream(40)):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        if not torch.isfinite(norm):
            skipped += 1
            log.info("step %d skipped", i)
            continue
        optimizer.step()
        if i % 10 == 0:
            log.info("step %d loss %.4f", i, loss.item())
    print("skipped", skipped, "last loss", loss.item())


if __name__ == "__main__":
    main()
