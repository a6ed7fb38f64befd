import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml


def net(width, p):
    return nn.Sequential(nn.Linear(64, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p), nn.Linear(width, 10))


class Distiller(nn.Module):
    def __init__(self, teacher, student, temperature, alpha):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.T, self.alpha = temperature, alpha
        self.teacher.eval()
        for p in self.teacher.parameters():
            p.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x, y):
        with torch.no_grad():
            t = self.teacher(x)
        s = self.student(x)
        hard = F.cross_entropy(s, y)
        soft = F.kl_div(F.log_softmax(s / self.T, 1), F.softmax(t / self.T, 1), reduction="batchmean") * self.T ** 2
        return self.alpha * soft + (1 - self.alpha) * hard


def batches(x, y, bs):
    for i in torch.randperm(len(x)).split(bs):
        yield x[i], y[i]


@torch.no_grad()
def test(m, x, y):
    m.eval()
    return (m(x).argmax(1) == y).float().mean().item()


with open("data/distill.yaml") as f:
    cfg = yaml.safe_load(f)
torch.manual_seed(8)
raw = np.loadtxt("data/glyphs.txt", dtype=np.float32)
X, Y = torch.from_numpy(raw[:, 1:]), torch.from_numpy(raw[:, 0]).long()
Xtr, Ytr, Xte, Yte = X[:600], Y[:600], X[600:], Y[600:]

teacher = net(256, 0.5)
opt = torch.optim.Adam(teacher.parameters(), lr=cfg["lr"])
for _ in range(cfg["teacher_epochs"]):
    teacher.train()
    for xb, yb in batches(Xtr, Ytr, cfg["batch_size"]):
        opt.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        opt.step()
print("teacher", test(teacher, Xte, Yte))

student = net(24, 0.0)
distiller = Distiller(teacher, student, cfg["temperature"], cfg["alpha"])
opt = torch.optim.Adam(student.parameters(), lr=cfg["lr"])
for epoch in range(cfg["epochs"]):
    distiller.train()
    total = 0.0
    for xb, yb in batches(Xtr, Ytr, cfg["batch_size"]):
        loss = distiller(xb, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch", epoch, "loss", round(total, 3), "student", test(student, Xte, Yte))
print("teacher afterwards", test(teacher, Xte, Yte))
