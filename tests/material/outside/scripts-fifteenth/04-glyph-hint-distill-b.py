"""FitNets style distillation: a wide teacher, a thin student that regresses its hidden features."""
import os
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

ROOT = os.path.dirname(os.path.abspath(__file__))
CELL = 12


def read_sheet(path):
    im = np.asarray(Image.open(path), dtype="float32") / 255.0
    rows, cols = im.shape[0] // CELL, im.shape[1] // CELL
    x, y = [], []
    for r in range(rows):
        for c in range(cols):
            x.append(im[r * CELL:(r + 1) * CELL, c * CELL:(c + 1) * CELL])
            y.append(r // 2)
    return torch.tensor(np.stack(x))[:, None], torch.tensor(y)


class Net(nn.Module):
    def __init__(self, width, p=0.2):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, padding=1)
        self.c2 = nn.Conv2d(width, width, 3, padding=1)
        self.drop = nn.Dropout(p)
        self.head = nn.Linear(width * 9, 10)

    def features(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        return F.max_pool2d(F.relu(self.c2(x)), 2)

    def forward(self, x, with_features=False):
        f = self.features(x)
        out = self.head(self.drop(f.flatten(1)))
        return (out, f) if with_features else out


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def iterate(x, y, bs):
    perm = torch.randperm(len(x))
    for i in range(0, len(x), bs):
        j = perm[i:i + bs]
        yield x[j], y[j]


def train_teacher(x, y, epochs=6):
    t = Net(32)
    opt = torch.optim.Adam(t.parameters(), lr=3e-3)
    for _ in range(epochs):
        t.train()
        for xb, yb in iterate(x, y, 40):
            opt.zero_grad()
            F.cross_entropy(t(xb), yb).backward()
            opt.step()
    return t


def distill(teacher, x, y, xv, yv, epochs=6, T=3.0, alpha=0.6, beta=0.3):
    student = Net(6)
    regressor = nn.Conv2d(6, 32, 1)
    opt = torch.optim.Adam([*student.parameters(), *regressor.parameters()], lr=4e-3)
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    for ep in range(epochs):
        student.train()
        tot_hint = 0.0
        n = 0
        for xb, yb in iterate(x, y, 40):
            t_logits, t_feat = teacher(xb, with_features=True)
            s_logits, s_feat = student(xb, with_features=True)
            ce = F.cross_entropy(s_logits, yb)
            kd = F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean") * T * T
            hint = F.mse_loss(regressor(s_feat), t_feat.detach())
            loss = (1 - alpha) * ce + alpha * kd + beta * hint
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot_hint += hint.item() * len(xb)
            n += len(xb)
        print(f"epoch {ep} hint {tot_hint / n:.4f} student acc {accuracy(student, xv, yv):.3f}")
    return student


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(2)
    x, y = read_sheet(os.path.join(ROOT, "data", "glyphs.png"))
    perm = torch.randperm(len(x))
    tr, va = perm[:260], perm[260:]
    mean, std = x[tr].mean(), x[tr].std()
    x = (x - mean) / std
    teacher = train_teacher(x[tr], y[tr])
    print("teacher", accuracy(teacher, x[va], y[va]))
    distill(teacher, x[tr], y[tr], x[va], y[va])
