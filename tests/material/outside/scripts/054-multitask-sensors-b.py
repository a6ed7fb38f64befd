"""Two-task sensor model (regression + classification). A few sensor rows are corrupted on purpose."""
import logging

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")
logger = logging.getLogger(__name__)


def sensors(n=1200):
    x = torch.randn(n, 8)
    temp = x[:, 0] * 2 + x[:, 1] ** 2 - x[:, 2] * x[:, 3]
    state = ((x[:, 4] + x[:, 5] > 0).long() + (x[:, 6] > 1).long())
    broken = torch.rand(n) < 0.004
    x[broken, 7] = float("inf")
    return TensorDataset(x, temp, state)


class MultiTask(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.reg = nn.Linear(width, 1)
        self.cls = nn.Linear(width, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.reg(h).squeeze(1), self.cls(h)


class Trainer:
    def __init__(self, model, lr=0.05, max_norm=2.0, cls_weight=0.5):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.max_norm, self.cls_weight = max_norm, cls_weight
        self.skipped = 0
        self.mse, self.ce = nn.MSELoss(), nn.CrossEntropyLoss()

    def loss(self, x, temp, state):
        t, s = self.model(x)
        return self.mse(t, temp) + self.cls_weight * self.ce(s, state)

    def step(self, batch):
        self.opt.zero_grad()
        loss = self.loss(*batch)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()
        if not torch.isfinite(norm):
            self.skipped += 1
            return None
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            losses = [l for l in map(self.step, loader) if l is not None]
            mean = sum(losses) / max(1, len(losses))
            logger.info("epoch %d: loss %.4f, %d good batches, %d skipped so far", epoch, mean, len(losses), self.skipped)


if __name__ == "__main__":
    torch.manual_seed(2)
    loader = DataLoader(sensors(), batch_size=32, shuffle=True)
    Trainer(MultiTask()).fit(loader, epochs=4)
