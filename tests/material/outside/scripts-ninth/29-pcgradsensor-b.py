"""Multi-task learning on sensor data with gradient surgery (PCGrad, Yu et al. 2020)."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SharedNet(nn.Module):
    def __init__(self, d_in, task_dims, h=96):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(d_in, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(h, d) for d in task_dims)

    def forward(self, x):
        z = self.shared(x)
        return [head(z) for head in self.heads]


class PCGrad:
    """Wraps an optimizer; projects conflicting task gradients on the shared parameters."""

    def __init__(self, optimizer, shared, private, rng):
        self.opt, self.rng = optimizer, rng
        self.shared, self.private = list(shared), list(private)

    def _flat_task_grads(self, losses):
        flats = []
        for loss in losses:
            g = torch.autograd.grad(loss, self.shared, retain_graph=True)
            flats.append(torch.cat([t.reshape(-1) for t in g]))
        return torch.stack(flats)

    def _project(self, grads):
        projected = grads
        conflicts = 0
        n = len(grads)
        for i in range(n):
            others = [j for j in range(n) if j != i]
            self.rng.shuffle(others)
            for j in others:
                dot = torch.dot(projected[i], grads[j])
                if dot < 0:
                    projected[i] -= dot / grads[j].pow(2).sum().clamp_min(1e-12) * grads[j]
                    conflicts += 1
        return projected.sum(0), conflicts

    def step(self, losses):
        self.opt.zero_grad(set_to_none=True)
        grads = self._flat_task_grads(losses)
        merged, conflicts = self._project(grads)
        head_grads = torch.autograd.grad(sum(losses), self.private)
        offset = 0
        for p in self.shared:
            p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        for p, g in zip(self.private, head_grads):
            p.grad = g
        nn.utils.clip_grad_norm_(self.shared + self.private, 5.0)
        self.opt.step()
        return conflicts


def load(path):
    """npz: x [N, D]; reg_* float targets [N]; cls_* integer targets [N]."""
    z = np.load(path)
    order = np.random.default_rng(0).permutation(len(z["x"]))
    cut = int(0.8 * len(order))
    x = torch.from_numpy(z["x"][order].astype(np.float32))
    x = (x - x[:cut].mean(0)) / (x[:cut].std(0) + 1e-6)
    names, dims, ys = [], [], []
    for k in sorted(z.files):
        if k.startswith("reg_"):
            y = torch.from_numpy(z[k][order].astype(np.float32))
            ys.append((y - y[:cut].mean()) / (y[:cut].std() + 1e-6))
            dims.append(1)
        elif k.startswith("cls_"):
            ys.append(torch.from_numpy(z[k][order].astype(np.int64)))
            dims.append(int(z[k].max()) + 1)
        else:
            continue
        names.append(k)
    train = TensorDataset(*(t[:cut] for t in (x, *ys)))
    held = TensorDataset(*(t[cut:] for t in (x, *ys)))
    return train, held, names, dims, x.shape[1]


def task_losses(outs, ys):
    return [F.mse_loss(o.squeeze(1), y) if y.is_floating_point() else F.cross_entropy(o, y)
            for o, y in zip(outs, ys)]


@torch.no_grad()
def test(net, loader, dev):
    net.eval()
    tot, n = None, 0
    for x, *ys in loader:
        ls = torch.stack(task_losses(net(x.to(dev)), [y.to(dev) for y in ys])) * len(x)
        tot = ls if tot is None else tot + ls
        n += len(x)
    net.train()
    return (tot / n).tolist()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("npz")
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--bs", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--save", default="mtl.pt")
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, held, names, dims, d_in = load(args.npz)
    train, held = DataLoader(train, args.bs, shuffle=True, drop_last=True), DataLoader(held, 1024)

    net = SharedNet(d_in, dims).to(dev)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    surgeon = PCGrad(opt, net.shared.parameters(), net.heads.parameters(), random.Random(args.seed))
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)

    for ep in range(args.epochs):
        conflicts, sums = 0, np.zeros(len(names))
        for x, *ys in train:
            losses = task_losses(net(x.to(dev)), [y.to(dev) for y in ys])
            conflicts += surgeon.step(losses)
            sums += [l.item() for l in losses]
        sched.step()
        held_out = test(net, held, dev)
        print(f"{ep:3d} conflicts/step {conflicts / len(train):.2f} | " +
              " | ".join(f"{n} {a:.3f}/{b:.3f}" for n, a, b in zip(names, sums / len(train), held_out)))
    torch.save({"net": net.state_dict(), "tasks": names, "dims": dims}, args.save)


if __name__ == "__main__":
    main()
