# FitNets 風の蒸留: 中間特徴のヒント損失 + ロジット蒸留
import os
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    data: str = os.environ.get("DATA", "shapes.npz")
    teacher_ckpt: str = os.environ.get("TEACHER", "teacher.pt")
    out: str = "student.pt"
    teacher_epochs: int = int(os.environ.get("T_EPOCHS", 15))
    epochs: int = int(os.environ.get("EPOCHS", 30))
    batch: int = int(os.environ.get("BATCH", 128))
    lr: float = 2e-3
    temperature: float = 4.0
    alpha: float = 0.7
    beta: float = 1.0
    teacher_width: tuple = field(default=(32, 64, 128))
    student_width: tuple = field(default=(8, 16, 32))


class ConvNet(nn.Module):
    def __init__(self, widths, n_classes):
        super().__init__()
        c = 1
        self.blocks = nn.ModuleList()
        for w in widths:
            self.blocks.append(nn.Sequential(nn.Conv2d(c, w, 3, padding=1, bias=False), nn.BatchNorm2d(w),
                                             nn.ReLU(), nn.MaxPool2d(2)))
            c = w
        self.fc = nn.Linear(c, n_classes)

    def forward(self, x):
        feats = []
        for b in self.blocks:
            x = b(x)
            feats.append(x)
        return self.fc(x.mean((2, 3))), feats


class Hint(nn.Module):
    """生徒の特徴を教師のチャネル数へ写像する"""

    def __init__(self, c_student, c_teacher):
        super().__init__()
        self.proj = nn.Conv2d(c_student, c_teacher, 1)

    def forward(self, fs, ft):
        return F.mse_loss(self.proj(fs), ft)


def accuracy(net, loader, device):
    net.eval()
    ok = n = 0
    with torch.no_grad():
        for x, y in loader:
            ok += (net(x.to(device))[0].argmax(1).cpu() == y).sum().item()
            n += len(y)
    return ok / n


def train_teacher(cfg, net, train, test, device):
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for ep in range(cfg.teacher_epochs):
        net.train()
        for x, y in train:
            loss = F.cross_entropy(net(x.to(device))[0], y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"[教師] {ep} acc {accuracy(net, test, device):.4f}")
    torch.save(net.state_dict(), cfg.teacher_ckpt)


def distill(cfg, teacher, student, train, test, device):
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    hints = nn.ModuleList(Hint(s, t) for s, t in zip(cfg.student_width, cfg.teacher_width)).to(device)
    params = list(student.parameters())
    opt = torch.optim.AdamW(params, lr=cfg.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.epochs * len(train))
    T = cfg.temperature
    for ep in range(cfg.epochs):
        t0 = time.time()
        student.train()
        stats = np.zeros(3)
        for x, y in train:
            x, y = x.to(device), y.to(device)
            with torch.no_grad():
                lt, ft = teacher(x)
            ls, fs = student(x)
            ce = F.cross_entropy(ls, y)
            kd = F.kl_div(F.log_softmax(ls / T, 1), F.log_softmax(lt / T, 1),
                          reduction="batchmean", log_target=True) * T * T
            hint = sum(h(a, b) for h, a, b in zip(hints, fs, ft)) / len(hints)
            loss = (1 - cfg.alpha) * ce + cfg.alpha * kd + cfg.beta * hint
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(params, 5.0)
            opt.step()
            sched.step()
            stats += [ce.item(), kd.item(), hint.item()]
        ce, kd, hint = stats / len(train)
        print(f"[生徒] {ep} ce {ce:.4f} kd {kd:.4f} hint {hint:.4f} "
              f"acc {accuracy(student, test, device):.4f} {time.time() - t0:.1f}s")
    torch.save({"student": student.state_dict(), "config": cfg.__dict__}, cfg.out)


def main():
    cfg = Config()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    z = np.load(cfg.data)
    mk = lambda x, y: TensorDataset(torch.from_numpy(z[x].astype(np.float32))[:, None] / 255.0,
                                    torch.from_numpy(z[y].astype(np.int64)))
    train_ds, test_ds = mk("x_train", "y_train"), mk("x_test", "y_test")
    train = DataLoader(train_ds, cfg.batch, shuffle=True, drop_last=True)
    test = DataLoader(test_ds, 512)
    k = int(train_ds.tensors[1].max()) + 1

    teacher = ConvNet(cfg.teacher_width, k).to(device)
    if os.path.exists(cfg.teacher_ckpt):
        teacher.load_state_dict(torch.load(cfg.teacher_ckpt, map_location=device))
    else:
        train_teacher(cfg, teacher, train, test, device)
    student = ConvNet(cfg.student_width, k).to(device)
    distill(cfg, teacher, student, train, test, device)


if __name__ == "__main__":
    main()
