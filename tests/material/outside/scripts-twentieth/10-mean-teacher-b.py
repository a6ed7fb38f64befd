"""Semi-supervised two-moons with a mean teacher (Tarvainen & Valpola 2017)."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def two_moons(n, noise=0.12):
    y = torch.randint(0, 2, (n,))
    a = math.pi * torch.rand(n)
    x = torch.stack([torch.cos(a), torch.sin(a)], dim=1)
    lower = torch.stack([1 - torch.cos(a), 0.5 - torch.sin(a)], dim=1)
    x = torch.where(y[:, None] == 1, lower, x)
    return x + noise * torch.randn(n, 2), y


def build_net(width):
    return nn.Sequential(
        nn.Linear(2, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 2),
    )


def augment(x):
    return x + 0.1 * torch.randn_like(x)


class MeanTeacher:
    def __init__(self, student, alpha):
        self.alpha = alpha
        self.net = copy.deepcopy(student)
        for p in self.net.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, student, step):
        alpha = min(self.alpha, 1 - 1 / (step + 1))
        for p_t, p_s in zip(self.net.parameters(), student.parameters()):
            p_t.mul_(alpha).add_(p_s, alpha=1 - alpha)

    @torch.no_grad()
    def __call__(self, x):
        return F.softmax(self.net(x), dim=1)


def ramp_up(step, length):
    if step >= length:
        return 1.0
    return math.exp(-5.0 * (1.0 - step / length) ** 2)


def accuracy(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1200)
    ap.add_argument("--labelled", type=int, default=10)
    ap.add_argument("--alpha", type=float, default=0.99)
    ap.add_argument("--weight", type=float, default=5.0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    x_u, _ = two_moons(1500)
    x_l, y_l = two_moons(args.labelled)
    x_t, y_t = two_moons(1000)

    student = build_net(64)
    teacher = MeanTeacher(student, args.alpha)
    optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)

    for step in range(args.steps):
        xb = x_u[torch.randint(0, len(x_u), (128,))]
        sup = F.cross_entropy(student(augment(x_l)), y_l)
        target = teacher(augment(xb))
        cons = F.mse_loss(F.softmax(student(augment(xb)), dim=1), target)
        loss = sup + args.weight * ramp_up(step, 400) * cons

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.update(student, step)

        if (step + 1) % 300 == 0:
            print(f"step {step + 1} sup {sup.item():.3f} cons {cons.item():.4f} "
                  f"student {accuracy(student, x_t, y_t):.3f} "
                  f"teacher {accuracy(teacher.net, x_t, y_t):.3f}")


if __name__ == "__main__":
    main()
