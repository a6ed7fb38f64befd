# 半监督 Mean Teacher：少量标注 + 大量未标注的工业缺陷特征
import argparse
import copy
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument('--root', default='./data', help='labeled.npz(x,y) unlabeled.npz(x) test.npz(x,y)')
    ap.add_argument('--epochs', type=int, default=60)
    ap.add_argument('--bs-l', type=int, default=32)
    ap.add_argument('--bs-u', type=int, default=128)
    ap.add_argument('--lr', type=float, default=0.03)
    ap.add_argument('--ema', type=float, default=0.99)
    ap.add_argument('--w-max', type=float, default=10.0)
    ap.add_argument('--rampup', type=int, default=20)
    ap.add_argument('--noise', type=float, default=0.15)
    ap.add_argument('--ckpt', default='mean_teacher.pth')
    return ap.parse_args()


class Net(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 128), nn.LayerNorm(128), nn.ReLU(), nn.Dropout(0.2),
                               nn.Linear(128, 64), nn.LayerNorm(64), nn.ReLU())
        self.c = nn.Linear(64, k)

    def forward(self, x):
        return self.c(self.f(x))


def load(root):
    l, u, t = (np.load(os.path.join(root, n + '.npz')) for n in ('labeled', 'unlabeled', 'test'))
    f = lambda a: torch.from_numpy(a.astype(np.float32))
    y = lambda a: torch.from_numpy(a.astype(np.int64))
    xl, xu, xt = f(l['x']), f(u['x']), f(t['x'])
    mu, sd = xu.mean(0), xu.std(0) + 1e-6          # 用未标注数据做标准化
    return (xl - mu) / sd, y(l['y']), (xu - mu) / sd, (xt - mu) / sd, y(t['y'])


def rampup(epoch, length):
    if epoch >= length:
        return 1.0
    p = 1.0 - epoch / length
    return math.exp(-5.0 * p * p)


@torch.no_grad()
def update_teacher(student, teacher, decay, step):
    decay = min(decay, 1.0 - 1.0 / (step + 1))
    for tp, sp in zip(teacher.parameters(), student.parameters()):
        tp.mul_(decay).add_(sp, alpha=1 - decay)


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


def cycle(loader):
    while True:
        for b in loader:
            yield b


def main():
    args = get_args()
    torch.manual_seed(2023)
    xl, yl, xu, xt, yt = load(args.root)
    k = int(yl.max()) + 1
    labeled = cycle(DataLoader(TensorDataset(xl, yl), args.bs_l, shuffle=True, drop_last=True))
    unlabeled = DataLoader(TensorDataset(xu), args.bs_u, shuffle=True, drop_last=True)

    student = Net(xl.shape[1], k)
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)

    opt = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * len(unlabeled))

    step = 0
    for ep in range(args.epochs):
        w = args.w_max * rampup(ep, args.rampup)
        s_cls = s_con = 0.0
        for (u,) in unlabeled:
            x, y = next(labeled)
            allx = torch.cat([x, u])
            out_s = student(allx + args.noise * torch.randn_like(allx))
            with torch.no_grad():
                out_t = teacher(allx + args.noise * torch.randn_like(allx))
            cls = F.cross_entropy(out_s[:len(x)], y)
            con = F.mse_loss(out_s.softmax(1), out_t.softmax(1))
            loss = cls + w * con

            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(student.parameters(), 5.0)
            opt.step()
            sched.step()
            step += 1
            update_teacher(student, teacher, args.ema, step)
            s_cls += cls.item()
            s_con += con.item()

        a_s, a_t = accuracy(student, xt, yt), accuracy(teacher, xt, yt)
        print(f'[{ep:03d}] cls {s_cls / len(unlabeled):.4f} con {s_con / len(unlabeled):.5f} '
              f'w {w:.2f} | 学生 {a_s:.4f} 教师 {a_t:.4f}')
    torch.save({'student': student.state_dict(), 'teacher': teacher.state_dict()}, args.ckpt)


if __name__ == '__main__':
    main()
