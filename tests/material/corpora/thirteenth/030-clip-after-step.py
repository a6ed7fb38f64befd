"""Clip between backward and step. `python train.py --help` for the options."""

import argparse
import copy
import logging
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

logger = logging.getLogger("train")


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--max-norm", type=float, default=1.0)
    p.add_argument("--ema-decay", type=float, default=0.99)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


class Regressor(nn.Module):
    def __init__(self, features=16, hidden=32, outputs=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.head = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.head(self.body(x))


def make_loader(args):
    generator = torch.Generator().manual_seed(args.seed)
    x = torch.randn(160, 16, generator=generator)
    y = 40.0 * x @ torch.randn(16, 3, generator=generator)
    dataset = TensorDataset(x, y)
    sampler = RandomSampler(dataset, generator=generator)
    return DataLoader(dataset, batch_size=args.batch_size, sampler=sampler, drop_last=False)


class Trainer:
    def __init__(self, net, args):
        self.args = args
        self.live = net
        self.model = copy.deepcopy(net)  # averaged weights: what is evaluated and shipped
        self.loss_fn = nn.MSELoss()
        self.opt = torch.optim.SGD(self.live.parameters(), lr=args.lr)

    @torch.no_grad()
    def _average(self):
        for slow, fast in zip(self.model.parameters(), self.live.parameters()):
            slow.lerp_(fast, 1.0 - self.args.ema_decay)

    def _train_step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.live(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_norm)  # before the step
        self.opt.step()
        self._average()
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.args.epochs):
            losses = [self._train_step(x, y) for x, y in loader]
            logger.info("epoch %d loss %.4f", epoch, sum(losses) / len(losses))


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO)
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    Trainer(Regressor(), args).fit(make_loader(args))


if __name__ == "__main__":
    main()
