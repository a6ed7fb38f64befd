"""Knowledge distillation: a trained teacher (data/teacher.pt) into a tiny student."""
import argparse
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv_bn(1, 24), nn.MaxPool2d(2), conv_bn(24, 48), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(48 * 4, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(conv_bn(1, 6), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(24, 10))

    def forward(self, x):
        return self.net(x)


@dataclass
class KDSettings:
    temperature: float = 4.0
    alpha: float = 0.8


class Distiller(nn.Module):
    """Holds both networks, so that .to(device) and state_dict() cover the pair."""

    def __init__(self, teacher, student, settings):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.s = settings
        self.teacher.requires_grad_(False)
        self.teacher.eval()

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x, y):
        with torch.no_grad():
            t = self.teacher(x)
        s = self.student(x)
        T = self.s.temperature
        soft = F.kl_div(F.log_softmax(s / T, -1), F.softmax(t / T, -1), reduction="batchmean") * T * T
        hard = F.cross_entropy(s, y)
        return self.s.alpha * soft + (1 - self.s.alpha) * hard


def load(path):
    z = np.load(path)
    x = torch.from_numpy(z["images"]).float().unsqueeze(1) / 255
    y = torch.from_numpy(z["labels"])
    return (x[:600], y[:600]), (x[600:], y[600:])


@torch.no_grad()
def accuracy(net, x, y):
    was = net.training
    net.eval()
    acc = (net(x).argmax(-1) == y).float().mean().item()
    net.train(was)
    return acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/digits8.npz")
    ap.add_argument("--teacher", default="data/teacher.pt")
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.01)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    (xtr, ytr), (xte, yte) = load(args.data)
    teacher = Teacher()
    teacher.load_state_dict(torch.load(args.teacher, map_location="cpu"))
    distiller = Distiller(teacher, Student(), KDSettings()).to(device)
    print(f"teacher accuracy {accuracy(distiller.teacher, xte.to(device), yte.to(device)):.3f}")

    opt = torch.optim.Adam(distiller.student.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        distiller.train()
        total = 0.0
        for idx in torch.randperm(len(xtr)).split(40):
            x, y = xtr[idx].to(device), ytr[idx].to(device)
            loss = distiller(x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        sched.step()
        print(f"epoch {epoch} kd loss {total / len(xtr):.4f} "
              f"student acc {accuracy(distiller.student, xte.to(device), yte.to(device)):.3f}")


if __name__ == "__main__":
    main()
