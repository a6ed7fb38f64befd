#!/usr/bin/env python
"""Accumulation that reproduces the large batch.

lr / 4 is not a property of accumulation: backward() ADDS, so four undivided losses give four
times the gradient of the batch of 256. Divide, and keep the old rate. (With Adam or with a
clip, lr / 4 would not even have been equivalent.)
"""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, optimizer, criterion, accumulate):
    """One epoch; every update is the mean over the samples of its window."""
    model.train()
    window = []

    def update():
        count = sum(len(target) for _, target in window)
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for data, target in window:
            loss = criterion(model(data), target) * (len(target) / count)
            loss.backward()
            total += loss.item()
        optimizer.step()
        window.clear()
        return total

    losses = []
    for batch in loader:
        window.append(batch)
        if len(window) == accumulate:
            losses.append(update())
    if window:
        losses.append(update())
    return losses


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    features = torch.randn(600, 16)
    targets = features @ torch.randn(16, 3) + 0.1 * torch.randn(600, 3)
    loader = DataLoader(TensorDataset(features, targets), batch_size=args.batch, shuffle=True)

    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        losses = train_epoch(model, loader, optimizer, nn.MSELoss(), args.accumulate)
        print(f"epoch {epoch}: " + " ".join(f"{loss:.4f}" for loss in losses))


if __name__ == "__main__":
    main([])
