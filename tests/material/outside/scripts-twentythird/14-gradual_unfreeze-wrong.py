"""Transfer learning with gradual unfreezing.

Pre-trains an MLP on a source task, then fine-tunes it on a small related task, opening
one more layer every few epochs (head first, then from the top down).
"""
import logging
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F

log = logging.getLogger(__name__)


@dataclass
class FinetuneConfig:
    epochs: int = 18
    unfreeze_every: int = 4
    batch_size: int = 20
    base_lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 1e-4
    hidden: list = field(default_factory=lambda: [48, 48, 48])


class Net(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        dims = [n_in] + hidden
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in zip(dims, dims[1:]))
        self.head = nn.Linear(hidden[-1], n_out)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def make_task(teacher, n, noise, rotate=None):
    x = torch.randn(n, 12)
    z = x @ rotate if rotate is not None else x
    with torch.no_grad():
        y = (teacher(z) + noise * torch.randn(n, 5)).argmax(1)
    return x, y


def iterate(x, y, batch_size):
    for idx in torch.randperm(len(x)).split(batch_size):
        yield x[idx], y[idx]


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def pretrain(model, x, y, epochs=12):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for xb, yb in iterate(x, y, 64):
            opt.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            opt.step()


class GradualUnfreezer:
    """Opens model.layers from the last to the first."""

    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opened = 0

    def step(self, epoch):
        if epoch == 0 or epoch % self.cfg.unfreeze_every or self.opened == len(self.model.layers):
            return
        self.opened += 1
        layer = self.model.layers[-self.opened]
        layer.requires_grad_(True)
        log.info("epoch %d: unfroze layer %d", epoch, len(self.model.layers) - self.opened)


def finetune(model, train, val, cfg):
    model.layers.requires_grad_(False)
    model.head.reset_parameters()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=cfg.base_lr, momentum=cfg.momentum, weight_decay=cfg.weight_decay)
    unfreezer = GradualUnfreezer(model, cfg)

    for epoch in range(cfg.epochs):
        unfreezer.step(epoch)
        total = 0.0
        for xb, yb in iterate(*train, cfg.batch_size):
            loss = F.cross_entropy(model(xb), yb)
            for p in model.parameters():
                p.grad = None
            loss.backward()
            optimizer.step()
            total += loss.item() * len(xb)
        log.info("epoch %2d  loss %.4f  val acc %.3f", epoch, total / len(train[0]), accuracy(model, *val))
    return model


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(8)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cfg = FinetuneConfig()

    teacher = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 5))
    rotate, _ = torch.linalg.qr(torch.eye(12) + 0.25 * torch.randn(12, 12))
    source = [t.to(device) for t in make_task(teacher, 3000, 0.05)]
    target = [t.to(device) for t in make_task(teacher, 400, 0.05, rotate)]
    val = [t.to(device) for t in make_task(teacher, 800, 0.05, rotate)]

    model = Net(12, cfg.hidden, 5).to(device)
    pretrain(model, *source)
    log.info("source acc %.3f, target acc before fine-tuning %.3f", accuracy(model, *source), accuracy(model, *val))
    finetune(model, target, val, cfg)


if __name__ == "__main__":
    main()
