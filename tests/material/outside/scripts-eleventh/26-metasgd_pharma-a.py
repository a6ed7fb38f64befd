"""Meta-SGD for few-shot dose-response curves.
curves.npz: 'dose' (tasks, points) and 'response' (tasks, points)."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class CurveTasks:
    def __init__(self, path, holdout=0.2, seed=0):
        with np.load(path) as z:
            x = torch.from_numpy(z["dose"].astype(np.float32))
            y = torch.from_numpy(z["response"].astype(np.float32))
        x = torch.log10(x.clamp(min=1e-4))
        perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
        cut = int(len(x) * (1 - holdout))
        tr = perm[:cut]
        x = (x - x[tr].mean()) / x[tr].std()
        y = (y - y[tr].mean()) / y[tr].std()
        self.split = {"train": (x[tr], y[tr]), "val": (x[perm[cut:]], y[perm[cut:]])}

    def task(self, split, shots, index=None):
        x, y = self.split[split]
        i = int(torch.randint(0, len(x), (1,))) if index is None else index
        order = torch.randperm(x.size(1))
        s, q = order[:shots], order[shots:]
        col = lambda t: t[:, None]
        return (col(x[i, s]), col(y[i, s])), (col(x[i, q]), col(y[i, q]))

    def size(self, split):
        return len(self.split[split][0])


class CurveNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


class MetaSGD(nn.Module):
    """Learns the initialisation and a per-weight inner step size."""

    def __init__(self, base, inner_lr, steps):
        super().__init__()
        self.base, self.steps = base, steps
        self.names = [n for n, _ in base.named_parameters()]
        self.log_lr = nn.ParameterList(
            nn.Parameter(torch.full_like(p, float(np.log(inner_lr)))) for p in base.parameters())

    def adapt(self, support, create_graph):
        x, y = support
        fast = dict(self.base.named_parameters())
        rates = [r.exp() for r in self.log_lr]
        for _ in range(self.steps):
            loss = F.mse_loss(functional_call(self.base, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=create_graph)
            fast = {n: fast[n] - a * g for n, a, g in zip(self.names, rates, grads)}
        return fast

    def query_loss(self, support, query, create_graph=True):
        fast = self.adapt(support, create_graph)
        return F.mse_loss(functional_call(self.base, fast, (query[0],)), query[1])


def evaluate(meta, tasks, shots, device):
    meta.eval()
    total = 0.0
    n = tasks.size("val")
    for i in range(n):
        support, query = tasks.task("val", shots, i)
        support, query = [t.to(device) for t in support], [t.to(device) for t in query]
        total += meta.query_loss(support, query, create_graph=False).item()
    return total / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="curves.npz")
    p.add_argument("--shots", type=int, default=5)
    p.add_argument("--inner-lr", type=float, default=0.01)
    p.add_argument("--inner-steps", type=int, default=2)
    p.add_argument("--meta-batch", type=int, default=16)
    p.add_argument("--meta-lr", type=float, default=1e-3)
    p.add_argument("--rate-lr", type=float, default=5e-3)
    p.add_argument("--iters", type=int, default=20000)
    p.add_argument("--eval-every", type=int, default=500)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--out", default="metasgd.pt")
    args = p.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    tasks = CurveTasks(args.data)
    meta = MetaSGD(CurveNet(), args.inner_lr, args.inner_steps).to(device)
    opt = torch.optim.Adam([
        {"params": meta.base.parameters(), "lr": args.meta_lr},
        {"params": meta.log_lr.parameters(), "lr": args.rate_lr},
    ])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.iters)

    best, running = float("inf"), 0.0
    for it in range(1, args.iters + 1):
        meta.train()
        opt.zero_grad()
        for _ in range(args.meta_batch):
            support, query = tasks.task("train", args.shots)
            support, query = [t.to(device) for t in support], [t.to(device) for t in query]
            loss = meta.query_loss(support, query) / args.meta_batch
            loss.backward()
            running += loss.item()
        nn.utils.clip_grad_norm_(meta.parameters(), args.clip)
        opt.step()
        sched.step()

        if it % args.eval_every == 0:
            val = evaluate(meta, tasks, args.shots, device)
            mean_lr = float(torch.cat([r.detach().exp().flatten() for r in meta.log_lr]).mean())
            print(f"iter {it} train {running / args.eval_every:.4f} val {val:.4f} inner lr {mean_lr:.4f}")
            running = 0.0
            if val < best:
                best = val
                torch.save(meta.state_dict(), args.out)


if __name__ == "__main__":
    main()
