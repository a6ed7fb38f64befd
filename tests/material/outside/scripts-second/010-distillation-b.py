import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


def net(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 5))


def batches(n, bs=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(10, 5, generator=torch.Generator().manual_seed(1))
    for _ in range(n):
        x = torch.randn(bs, 10, generator=g)
        yield x, (x @ w).argmax(1)


def fit_teacher(model):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, y in batches(60):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model.eval()


def distill(teacher, student, T=3.0, alpha=0.7):
    for p in teacher.parameters():
        p.requires_grad_(False)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for step, (x, y) in enumerate(batches(40, seed=5)):
        with torch.no_grad():
            t = teacher(x)
        s = student(x)
        soft = F.kl_div(F.log_softmax(s / T, -1), F.softmax(t / T, -1), reduction="batchmean") * T * T
        hard = F.cross_entropy(s, y)
        loss = alpha * soft + (1 - alpha) * hard
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"{step:3d} soft {soft.item():.4f} hard {hard.item():.4f}")


if __name__ == "__main__":
    teacher = fit_teacher(net(64))
    student = net(8)
    before = copy.deepcopy(teacher.state_dict())
    distill(teacher, student)
    assert all(torch.equal(v, before[k]) for k, v in teacher.state_dict().items())
