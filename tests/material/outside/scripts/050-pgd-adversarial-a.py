"""PGD adversarial training."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 49, 64), nn.ReLU(), nn.Linear(64, 10))


def attack_pgd(model, x, y, eps, alpha, iters):
    delta = torch.empty_like(x).uniform_(-eps, eps).requires_grad_(True)
    for _ in range(iters):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        with torch.no_grad():
            delta.add_(alpha * delta.grad.sign()).clamp_(-eps, eps)
        delta.grad = None
    return delta.detach()


def evaluate(model, loader, args, device):
    clean = robust = n = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        delta = attack_pgd(model, x, y, args.epsilon, args.alpha, args.attack_iters)
        with torch.no_grad():
            clean += (model(x).argmax(1) == y).sum().item()
            robust += (model(x + delta).argmax(1) == y).sum().item()
        n += len(y)
    return clean / n, robust / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data-dir", default="../mnist-data")
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--epsilon", type=float, default=0.1)
    ap.add_argument("--alpha", type=float, default=0.04)
    ap.add_argument("--attack-iters", type=int, default=4)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    set_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train = DataLoader(datasets.KMNIST(args.data_dir, train=True, download=True, transform=transforms.ToTensor()),
                       args.batch_size, shuffle=True)
    test = DataLoader(datasets.KMNIST(args.data_dir, train=False, download=True, transform=transforms.ToTensor()), 256)
    model = make_model().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        model.train()
        total, correct, n = 0.0, 0, 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            delta = attack_pgd(model, x, y, args.epsilon, args.alpha, args.attack_iters)
            opt.zero_grad()
            logits = model(x + delta)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
            correct += (logits.argmax(1) == y).sum().item()
            n += len(y)
        model.eval()
        clean, robust = evaluate(model, test, args, device)
        print(f"epoch {epoch}: adv loss {total / n:.4f} adv acc {correct / n:.3f} | clean {clean:.3f} robust {robust:.3f}")


if __name__ == "__main__":
    main()
