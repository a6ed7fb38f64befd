"""A small Runner with callbacks, used for fault diagnosis on vibration signals."""
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_fit_begin(self, r): pass
    def on_epoch_begin(self, r): pass
    def on_batch_end(self, r): pass
    def on_update_end(self, r): pass
    def on_epoch_end(self, r): pass


class SchedulerCallback(Callback):
    """Steps a scheduler built for `total` optimizer updates."""

    def __init__(self, make):
        self.make = make

    def on_fit_begin(self, r):
        self.scheduler = self.make(r.optimizer, r.total_updates)

    def on_batch_end(self, r):
        self.scheduler.step()


class Printer(Callback):
    def on_epoch_begin(self, r):
        self.t = time.time()

    def on_epoch_end(self, r):
        lr = r.optimizer.param_groups[0]["lr"]
        print(f"epoch {r.epoch} updates {r.updates} loss {np.mean(r.losses):.4f} acc {r.evaluate():.3f} lr {lr:.4f} "
              f"({time.time() - self.t:.1f}s)")


class Runner:
    def __init__(self, model, optimizer, loss_fn, accumulate, callbacks):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.accumulate, self.callbacks = accumulate, callbacks
        self.updates = 0

    def fire(self, event):
        for c in self.callbacks:
            getattr(c, "on_" + event)(self)

    def fit(self, train, valid, epochs):
        self.train, self.valid = train, valid
        self.total_updates = epochs * (len(train) // self.accumulate)
        self.fire("fit_begin")
        for self.epoch in range(epochs):
            self.fire("epoch_begin")
            self.losses = []
            self.model.train()
            for i, batch in enumerate(train, 1):
                self.micro_batch(*batch)
                self.fire("batch_end")
                if i % self.accumulate == 0:
                    self.update()
            self.fire("epoch_end")

    def micro_batch(self, x, y):
        loss = self.loss_fn(self.model(x), y)
        (loss / self.accumulate).backward()
        self.losses.append(loss.item())

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.updates += 1
        self.fire("update_end")

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        return torch.cat([(self.model(x).argmax(1) == y).float() for x, y in self.valid]).mean().item()


def vibration(n, seed):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 128)
    y = rng.integers(0, 4, n)
    f = rng.uniform(8, 12, (n, 1))
    sig = np.sin(2 * np.pi * f * t)
    sig += np.where(y[:, None] == 1, 0.5 * np.sin(2 * np.pi * 2 * f * t), 0)
    sig += np.where(y[:, None] == 2, 0.8 * (np.abs(np.sin(np.pi * f * t)) > 0.97), 0)
    sig *= np.where(y[:, None] == 3, 1 + 0.6 * np.sin(2 * np.pi * 3 * t), 1)
    sig += rng.normal(0, 0.3, sig.shape)
    return TensorDataset(torch.tensor(sig[:, None], dtype=torch.float32), torch.tensor(y))


def one_cycle(optimizer, total):
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / (0.2 * total), max(0.02, (total - s) / (0.8 * total))))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(1, 16, 9, 2, 4), nn.ReLU(), nn.Conv1d(16, 32, 9, 2, 4), nn.ReLU(),
                          nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train = DataLoader(vibration(640, 0), 8, shuffle=True)
    runner = Runner(model, optimizer, nn.CrossEntropyLoss(), 4, [SchedulerCallback(one_cycle), Printer()])
    runner.fit(train, DataLoader(vibration(200, 1), 100), epochs=4)


if __name__ == "__main__":
    main()
