# Two-task regression, gradient surgery (PCGrad) on the shared trunk
import random
from pathlib import Path
import numpy as np
import torch
from torch import nn

DATA = Path(__file__).with_name("data") / "bikes.npz"


class SharedNet(nn.Module):
    def __init__(self, d_in, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(16, 1) for t in tasks})

    def forward(self, x):
        h = self.trunk(x)
        return {t: head(h).squeeze(-1) for t, head in self.heads.items()}


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def unflat(vec, like):
    out, i = [], 0
    for p in like:
        out.append(vec[i:i + p.numel()].view_as(p))
        i += p.numel()
    return out


def surgery(task_grads):
    """Project every task's gradient off those it conflicts with, then sum."""
    originals = [g.clone() for g in task_grads]
    fixed = []
    for i, g in enumerate(task_grads):
        g = g.clone()
        others = [j for j in range(len(originals)) if j != i]
        random.shuffle(others)
        for j in others:
            dot = torch.dot(g, originals[j])
            if dot < 0:
                g = g - dot / originals[j].pow(2).sum().clamp_min(1e-12) * originals[j]
        fixed.append(g)
    return torch.stack(fixed).sum(0)


def train():
    torch.set_num_threads(1)
    random.seed(0); torch.manual_seed(0)
    z = np.load(DATA)
    x = torch.from_numpy(z["x"])
    ys = {t: torch.from_numpy(z[t]) for t in ("rentals", "returns")}
    n = 320
    for t in ys:
        ys[t] = (ys[t] - ys[t][:n].mean()) / ys[t][:n].std()
    net = SharedNet(x.shape[1], list(ys))
    shared = list(net.trunk.parameters())
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for ep in range(8):
        conflicts = k = 0
        for idx in torch.randperm(n).split(40):
            out = net(x[idx])
            losses = {t: nn.functional.mse_loss(out[t], ys[t][idx]) for t in ys}
            per_task = [flat(torch.autograd.grad(l, shared, retain_graph=True)) for l in losses.values()]
            opt.zero_grad()
            sum(losses.values()).backward()      # right for the heads; the trunk is overwritten below
            for p, g in zip(shared, unflat(surgery(per_task), shared)):
                p.grad = g.clone()
            opt.step()
            conflicts += int(torch.dot(*per_task) < 0); k += 1
        with torch.no_grad():
            out = net(x[n:])
            v = {t: nn.functional.mse_loss(out[t], ys[t][n:]).item() for t in ys}
        print(ep, " ".join(f"{t}={e:.4f}" for t, e in v.items()), f"conflicts {conflicts}/{k}")


if __name__ == "__main__":
    train()
