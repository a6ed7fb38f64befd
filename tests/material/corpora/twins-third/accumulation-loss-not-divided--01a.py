from dataclasses import dataclass

import torch


@dataclass
class Args:
    gradient_accumulation_steps: int = 4
    epochs: int = 2


args = Args()


def window_size(i, total):
    start = i - i % args.gradient_accumulation_steps
    return min(args.gradient_accumulation_steps, total - start)


def train_epoch(loader):
    total = len(loader)
    for i, (x, y) in enumerate(loader):
        size = window_size(i, total)
        loss = criterion(model(x), y)
        loss.backward(gradient=torch.tensor(1.0 / size))
        if (i % args.gradient_accumulation_steps) + 1 == size:
            optimizer.step()
            optimizer.zero_grad()


for _ in range(args.epochs):
    train_epoch(train_loader)
