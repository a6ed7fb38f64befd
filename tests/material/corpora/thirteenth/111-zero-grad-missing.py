"""Accumulation over four micro-batches; gradients are cleared once a window, right after the step."""

import copy
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
    ema: float = 0.9
    seed: int = 3


class WithAverage:
    """A network beside its averaged weights. Attribute access goes to the network to evaluate."""

    def __init__(self, net, decay):
        self.live, self.averaged, self.decay = net, copy.deepcopy(net), decay

    def __call__(self, x):
        return self.live(x)

    def __getattr__(self, name):
        return getattr(self.averaged, name)

    @torch.no_grad()
    def update(self):
        for slow, fast in zip(self.averaged.parameters(), self.live.parameters()):
            slow.lerp_(fast, 1.0 - self.decay)


def get_data(cfg):
    x = torch.randn(112, 16)
    y = x @ torch.randn(16, 3) * 0.3
    return DataLoader(TensorDataset(x, y), batch_size=cfg.micro_batch, shuffle=True)


def train_one_epoch(net, loader, loss_fn, opt, cfg):
    for i, (x, y) in enumerate(loader):
        remaining = len(loader) - i // cfg.accumulation_steps * cfg.accumulation_steps
        loss = loss_fn(net(x), y)
        (loss / min(cfg.accumulation_steps, remaining)).backward()
        if (i + 1) % cfg.accumulation_steps == 0 or (i + 1) == len(loader):
            opt.step()
            net.update()
            net.zero_grad(set_to_none=True)


def main(cfg=Config()):
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(cfg.seed)
    train_data = get_data(cfg)
    base = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))
    opt = torch.optim.SGD(base.parameters(), lr=cfg.lr)
    net = WithAverage(base, cfg.ema)
    loss_fn = nn.MSELoss()
    for epoch in range(cfg.epochs):
        train_one_epoch(net, train_data, loss_fn, opt, cfg)
        logger.info("epoch %d done", epoch)


if __name__ == "__main__":
    main()
