"""Clip between backward and step. `python train.py --help` for the options."""

import argparse
import logging
import math
import random
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

logger = logging.getLogger("train")


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--max-norm", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--resume", type=Path, default=None)
    p.add_argument("--compile", action="store_true")
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


def lr_lambda(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO)
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    loader = make_loader(args)
    net = Regressor()
    run = torch.compile(net) if args.compile else net
    loss_fn = nn.MSELoss()
    opt = torch.optim.SGD(net.parameters(), lr=args.lr)
    total = args.epochs * len(loader)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_lambda(s, args.warmup, total))
    first = 0
    if args.resume is not None and args.resume.exists():
        state = torch.load(args.resume)
        net.load_state_dict(state["model"])
        opt.load_state_dict(state["optimizer"])
        sched.load_state_dict(state["scheduler"])
        first = state["epoch"] + 1
    for epoch in range(first, args.epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            loss = loss_fn(run(x), y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), args.max_norm)
            opt.step()
            sched.step()
        logger.info("epoch %d loss %.4f norm %.3f lr %.4f", epoch, loss, norm, sched.get_last_lr()[0])


if __name__ == "__main__":
    main()
