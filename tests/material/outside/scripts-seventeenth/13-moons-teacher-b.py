# mean teacher on two moons: 16 labelled points, the rest unlabelled (label -1 in the file).
#   student: CE on labelled + ramped consistency to the teacher's prediction on noised inputs
#   teacher: exponential average of the student's weights, moved after each update
import copy
import math
from pathlib import Path

import torch

D = [l.split() for l in (Path(__file__).parent / "data" / "moons.txt").read_text().splitlines()]
X = torch.tensor([[float(a), float(b)] for a, b, _ in D])
Y = torch.tensor([int(c) for *_, c in D])
LAB, UNL = (Y >= 0).nonzero().squeeze(1), (Y < 0).nonzero().squeeze(1)


def make():
    return torch.nn.Sequential(
        torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


def ramp(k, n=120):
    return math.exp(-5 * (1 - min(k / n, 1)) ** 2)


def move(teacher, student, k, cap=0.98):
    a = min(1 - 1 / (k + 1), cap)
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.copy_(a * t + (1 - a) * s)


def learn(updates=240, weight=4.0, noise=0.15, report=60):
    g = torch.Generator().manual_seed(3)
    torch.manual_seed(3)
    student = make()
    teacher = copy.copy(student)
    opt = torch.optim.Adam(student.parameters(), lr=6e-3)
    jitter = lambda t: t + noise * torch.randn(t.shape, generator=g)

    for k in range(1, updates + 1):
        lab = LAB[torch.randint(len(LAB), (8,), generator=g)]
        unl = UNL[torch.randint(len(UNL), (48,), generator=g)]
        both = torch.cat([X[lab], X[unl]])

        with torch.no_grad():
            goal = teacher(jitter(both)).softmax(-1)
        out = student(jitter(both))
        sup = torch.nn.functional.cross_entropy(out[:8], Y[lab])
        con = (out.softmax(-1) - goal).square().sum(-1).mean()
        loss = sup + weight * ramp(k) * con

        grads = torch.autograd.grad(loss, tuple(student.parameters()))
        total = torch.nn.utils.get_total_norm(grads)
        shrink = min(1.0, 1.0 / (float(total) + 1e-6))
        for p, d in zip(student.parameters(), grads):
            p.grad = d * shrink
        opt.step()
        move(teacher, student, k)

        if k % report == 0:
            with torch.no_grad():
                gap = (teacher(X).softmax(-1) - student(X).softmax(-1)).abs().mean()
            print(f"{k:4d} sup {sup.item():.4f} con {con.item():.5f} norm {total.item():.3f} gap {gap.item():.4f}")
    return teacher


if __name__ == "__main__":
    t = learn()
    print("teacher", round(sum(p.detach().abs().sum().item() for p in t.parameters()), 4))
