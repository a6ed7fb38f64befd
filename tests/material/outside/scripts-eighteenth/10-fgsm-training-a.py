"""Adversarial training (FGSM) on synthetic digits-like blobs."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--eps", type=float, default=0.15)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=50)
    p.add_argument("--lr", type=float, default=0.1)
    return p.parse_args()


def make_split(n, protos, g):
    y = torch.randint(0, len(protos), (n,), generator=g)
    return (protos[y] + 0.25 * torch.randn(n, 36, generator=g)).clamp(0, 1), y


def craft(model, x, y, eps):
    x_adv = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x_adv), y)
    (g,) = torch.autograd.grad(loss, x_adv)
    return (x + eps * g.sign()).clamp(0, 1).detach()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    args = parse()
    torch.manual_seed(2)
    g = torch.Generator().manual_seed(2)
    protos = torch.rand(6, 36, generator=g)
    x_tr, y_tr = make_split(600, protos, g)
    x_te, y_te = make_split(300, protos, g)

    model = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 6))
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        perm = torch.randperm(len(x_tr))
        running = 0.0
        for i in range(0, len(perm), args.batch):
            idx = perm[i:i + args.batch]
            x, y = x_tr[idx], y_tr[idx]

            opt.zero_grad()
            x_adv = craft(model, x, y, args.eps)
            loss = 0.5 * F.cross_entropy(model(x), y) + 0.5 * F.cross_entropy(model(x_adv), y)
            loss.backward()
            opt.step()
            running += loss.item() * len(idx)

        clean = accuracy(model, x_te, y_te)
        robust = accuracy(model, craft(model, x_te, y_te, args.eps), y_te)
        print(f"epoch {epoch}: loss {running / len(x_tr):.4f} clean {clean:.3f} robust {robust:.3f}")


if __name__ == "__main__":
    main()
