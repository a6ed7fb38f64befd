"""
PGD adversarial training (Madry et al.) of a small CNN on synthetic glyphs.

Each batch is attacked with a few steps of projected gradient ascent on the input; the weights
are then updated on the adversarial examples only.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--n-train", type=int, default=10000)
parser.add_argument("--n-test", type=int, default=1000)
parser.add_argument("--batch-size", type=int, default=100)
parser.add_argument("--epsilon", type=float, default=0.15)
parser.add_argument("--alpha", type=float, default=0.04)
parser.add_argument("--attack-steps", type=int, default=7)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight-decay", type=float, default=2e-4)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="robust.pt")


def glyphs(n, seed):
    """6 fixed 20x20 glyphs, shifted, with noise, in [0, 1]"""
    proto = torch.Generator().manual_seed(31)
    shapes = (torch.rand(6, 1, 5, 5, generator=proto) > 0.5).float()
    shapes = F.pad(F.interpolate(shapes, scale_factor=3), (2, 3, 2, 3))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(6, (n,), generator=g)
    x = shapes[y]
    sy, sx = torch.randint(-2, 3, (2, n), generator=g).tolist()
    x = torch.stack([torch.roll(img, (a, b), (1, 2)) for img, a, b in zip(x, sy, sx)])
    return (0.15 + 0.7 * x + 0.1 * torch.randn(x.shape, generator=g)).clamp(0, 1), y


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 5, padding=2)
        self.c2 = nn.Conv2d(16, 32, 5, padding=2)
        self.f1 = nn.Linear(32 * 5 * 5, 128)
        self.f2 = nn.Linear(128, 6)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f2(F.relu(self.f1(x.flatten(1))))


def pgd_attack(model, x, y, eps, alpha, steps):
    delta = torch.empty_like(x).uniform_(-eps, eps)
    delta = ((x + delta).clamp(0, 1) - x).requires_grad_(True)
    for _ in range(steps):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        with torch.no_grad():
            delta += alpha * delta.grad.sign()
            delta.clamp_(-eps, eps)
            delta.copy_((x + delta).clamp(0, 1) - x)
        delta.grad.zero_()
    return (x + delta).detach()


def train_epoch(model, optimizer, x, y, args, device):
    model.train()
    perm = torch.randperm(len(x))
    total = correct = 0
    for idx in perm.split(args.batch_size):
        xb, yb = x[idx].to(device), y[idx].to(device)
        optimizer.zero_grad()
        x_adv = pgd_attack(model, xb, yb, args.epsilon, args.alpha, args.attack_steps)
        logits = model(x_adv)
        loss = F.cross_entropy(logits, yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
        correct += (logits.argmax(1) == yb).sum().item()
    return total / len(x), correct / len(x)


def test(model, x, y, args, device):
    model.eval()
    clean = robust = 0
    for xb, yb in zip(x.split(200), y.split(200)):
        xb, yb = xb.to(device), yb.to(device)
        x_adv = pgd_attack(model, xb, yb, args.epsilon, args.alpha, 2 * args.attack_steps)
        with torch.no_grad():
            clean += (model(xb).argmax(1) == yb).sum().item()
            robust += (model(x_adv).argmax(1) == yb).sum().item()
    return clean / len(x), robust / len(x)


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x_train, y_train = glyphs(args.n_train, 1)
    x_test, y_test = glyphs(args.n_test, 2)
    model = CNN().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum,
                                weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, milestones=[int(0.6 * args.epochs), int(0.85 * args.epochs)], gamma=0.1)
    for epoch in range(args.epochs):
        loss, acc = train_epoch(model, optimizer, x_train, y_train, args, device)
        scheduler.step()
        clean, robust = test(model, x_test, y_test, args, device)
        print(f"epoch {epoch} adv loss {loss:.4f} adv acc {acc:.3f} | test clean {clean:.3f} robust {robust:.3f}")
        torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
