"""Accumulation over 4 micro-batches of 32 (effective batch 128).

Please don't rip it out. zero_grad() at the top of the loop body threw away three of four micro-batches, so every update
saw a single one, at a quarter of its weight: as noisy as before, and slower. It now comes after the step, once per
window. Accumulation saves memory, not time.
"""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, criterion, optimizer, accumulation_steps):
    model.train()
    running = 0.0
    for i, (x, y) in enumerate(loader, start=1):
        loss = criterion(model(x), y)
        (loss / accumulation_steps).backward()
        running += loss.item()

        if i % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    return running / len(loader)


def make_data(n=320, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 16, generator=g)
    y = torch.tanh(x @ torch.randn(16, 3, generator=g) / 4)
    return TensorDataset(x, y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--accumulation-steps", type=int, default=4)
    args, _ = parser.parse_known_args()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)

    optimizer.zero_grad()
    for epoch in range(args.epochs):
        mean_loss = train_epoch(model, loader, criterion, optimizer, args.accumulation_steps)
        print(f"epoch {epoch}: loss {mean_loss:.4f}")


if __name__ == "__main__":
    main()
