"""Weather type from station readings; the accumulation logic lives in a context manager."""
import contextlib
import csv

import numpy as np
import torch
from torch import nn


class Accumulator:
    """with acc.micro(last=...) as scale: (loss * scale).backward()"""

    def __init__(self, optimizer, window, total):
        self.optimizer, self.window, self.total = optimizer, window, total
        self.count, self.updates = 0, 0
        optimizer.zero_grad()

    @contextlib.contextmanager
    def micro(self):
        # size of the window this micro-batch belongs to, the last one may be shorter
        start = self.count // self.window * self.window
        yield 1.0 / min(self.window, self.total - start)
        self.count += 1
        if self.count % self.window or self.count == self.total:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.updates += 1
        if self.count == self.total:
            self.count = 0


def stations(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)  # clear, cloudy, rain, snow
    temp = rng.normal([15, 12, 9, -4], 5, (n, 4))[np.arange(n), y]
    hum = rng.normal([45, 65, 90, 85], 10, (n, 4))[np.arange(n), y]
    pres = rng.normal([1022, 1014, 1003, 1006], 6, (n, 4))[np.arange(n), y]
    wind = rng.gamma(2, [2, 2.5, 4, 3], (n, 4))[np.arange(n), y]
    x = np.stack([temp / 10, (hum - 70) / 20, (pres - 1012) / 10, wind / 5], 1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def main():
    torch.manual_seed(0)
    x, y = stations(1040, 0)
    xv, yv = stations(400, 1)
    model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.8)
    criterion = nn.CrossEntropyLoss()
    micro = 20
    acc = Accumulator(optimizer, window=5, total=len(x) // micro)
    with open("log.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["epoch", "updates", "train_loss", "val_acc"])
        for epoch in range(6):
            total = 0.0
            for idx in torch.randperm(len(x)).split(micro):
                with acc.micro() as scale:
                    loss = criterion(model(x[idx]), y[idx])
                    (loss * scale).backward()
                total += loss.item()
            with torch.no_grad():
                val = (model(xv).argmax(1) == yv).float().mean().item()
            writer.writerow([epoch, acc.updates, f"{total * micro / len(x):.4f}", f"{val:.4f}"])
            print(f"epoch {epoch}: updates {acc.updates} loss {total * micro / len(x):.4f} val acc {val:.3f}")


if __name__ == "__main__":
    main()
