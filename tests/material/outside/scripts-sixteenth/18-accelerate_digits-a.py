"""Image classifier with Hugging Face Accelerate and gradient accumulation.

Usage: accelerate launch 18-accelerate_digits.py --data data/digits8.npz
"""
import argparse
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from accelerate import Accelerator


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(4, c), nn.SiLU(),
                               nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(4, c))

    def forward(self, x):
        return torch.nn.functional.silu(x + self.f(x))


def make_model(c=16):
    return nn.Sequential(nn.Conv2d(1, c, 3, padding=1), ResBlock(c), nn.MaxPool2d(2), ResBlock(c),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * c, 10))


def get_loaders(path, bs):
    z = np.load(path)
    x = torch.from_numpy(z["images"]).float().unsqueeze(1) / 127.5 - 1
    y = torch.from_numpy(z["labels"])
    return (DataLoader(TensorDataset(x[:704], y[:704]), batch_size=bs, shuffle=True),
            DataLoader(TensorDataset(x[704:], y[704:]), batch_size=98))


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/digits8.npz")
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch_size", type=int, default=8)
    p.add_argument("--gradient_accumulation_steps", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--mixed_precision", default="no", choices=["no", "bf16", "fp16"])
    return p.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator(mixed_precision=args.mixed_precision,
                              gradient_accumulation_steps=args.gradient_accumulation_steps)
    train_loader, val_loader = get_loaders(args.data, args.batch_size)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    updates = math.ceil(len(train_loader) / args.gradient_accumulation_steps)
    accelerator.print(f"{updates} updates per epoch")
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        total, norms = 0.0, []
        for x, y in train_loader:
            with accelerator.accumulate(model):
                loss = criterion(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    norms.append(float(accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)))
                optimizer.step()
                optimizer.zero_grad()
            total += loss.detach().item()

        model.eval()
        correct = count = 0
        for x, y in val_loader:
            with torch.no_grad():
                pred = model(x).argmax(-1)
            pred, y = accelerator.gather_for_metrics((pred, y))
            correct += (pred == y).sum().item()
            count += len(y)
        accelerator.print(f"epoch {epoch} loss {total / len(train_loader):.4f} "
                          f"grad norm {np.mean(norms):.3f} val acc {correct / count:.3f}")


if __name__ == "__main__":
    main()
