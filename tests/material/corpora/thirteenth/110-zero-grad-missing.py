"""Accumulation over four micro-batches; gradients are cleared once a window, right after the step."""

import logging
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("train")


@dataclass
class Config:
    epochs: int = 2
    micro_batch: int = 8
    accumulation_steps: int = 4
    lr: float = 0.05
    seed: int = 3


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0.0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def get_data(cfg):
    x = torch.randn(112, 16)
    y = x @ torch.randn(16, 3) * 0.3
    return DataLoader(TensorDataset(x, y), batch_size=cfg.micro_batch, shuffle=True)


def train_one_epoch(net, loader, loss_fn, opt, cfg):
    net.train()
    meter = AverageMeter()
    for i, (x, y) in enumerate(loader):
        remaining = len(loader) - i // cfg.accumulation_steps * cfg.accumulation_steps
        loss = loss_fn(net(x), y)
        (loss / min(cfg.accumulation_steps, remaining)).backward()
        meter.update(loss.item(), len(x))
        if (i + 1) % cfg.accumulation_steps == 0 or (i + 1) == len(loader):
            opt.step()
            opt.zero_grad(set_to_none=True)
    return meter.avg


@torch.no_grad()
def evaluate(net, loader, loss_fn):
    net.eval()
    meter = AverageMeter()
    for x, y in loader:
        meter.update(loss_fn(net(x), y).item(), len(x))
    return meter.avg


def main(cfg=Config()):
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(cfg.seed)
    train_data = get_data(cfg)
    net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))
    opt = torch.optim.SGD(net.parameters(), lr=cfg.lr)
    loss_fn = nn.MSELoss()
    best = float("inf")
    for epoch in range(cfg.epochs):
        train_loss = train_one_epoch(net, train_data, loss_fn, opt, cfg)
        valid_loss = evaluate(net, train_data, loss_fn)
        best = min(best, valid_loss)
        logger.info("epoch %d train %.4f valid %.4f best %.4f", epoch, train_loss, valid_loss, best)


if __name__ == "__main__":
    main()
