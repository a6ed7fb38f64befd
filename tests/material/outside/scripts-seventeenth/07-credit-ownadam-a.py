from pathlib import Path
import csv, sys
import torch, torch.nn as nn
from torch.optim import Optimizer

# our own AdamW (the fork on the cluster hasn't got a foreach one). Clipping lives in the optimizer,
# because each group has a limit of its own.


class GroupAdam(Optimizer):
    r"""AdamW with bias correction, one step count for the whole optimizer, and ``max_norm`` per group.

    All parameters must get a gradient in each step.
    """

    def __init__(self, groups, lr=1e-3, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0, max_norm=float("inf")):
        super().__init__(groups, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, max_norm=max_norm))
        self.count = 0
        for g in self.param_groups:
            for p in g["params"]:
                self.state[p]["m"] = torch.zeros_like(p)
                self.state[p]["v"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure=None):
        assert closure is None
        self.count += 1
        for g in self.param_groups:
            ps = g["params"]
            ds = [p.grad for p in ps]
            ms = [self.state[p]["m"] for p in ps]
            vs = [self.state[p]["v"] for p in ps]
            b1, b2 = g["betas"]

            norm = torch.stack(torch._foreach_norm(ds)).norm()
            g["last_norm"] = float(norm)
            ds = torch._foreach_mul(ds, (g["max_norm"] / (norm + 1e-6)).clamp(max=1.0))   # not in place

            torch._foreach_lerp_(ms, ds, 1 - b1)
            torch._foreach_mul_(vs, b2)
            torch._foreach_addcmul_(vs, ds, ds, 1 - b2)

            c1, c2 = 1 - b1 ** self.count, 1 - b2 ** self.count
            den = torch._foreach_sqrt(vs)
            torch._foreach_div_(den, c2 ** 0.5)
            torch._foreach_add_(den, g["eps"])
            torch._foreach_mul_(ps, 1 - g["lr"] * g["weight_decay"])
            torch._foreach_addcdiv_(ps, ms, den, -g["lr"] / c1)


class Scorer(nn.Module):
    def __init__(s):
        super().__init__()
        s.region, s.job = nn.Embedding(8, 6), nn.Embedding(5, 6)
        s.body = nn.Sequential(nn.Linear(15, 24), nn.SiLU(), nn.Linear(24, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(s, cat, num):
        return s.body(torch.cat([s.region(cat[:, 0]), s.job(cat[:, 1]), num], 1)).squeeze(1)


def load(path):
    with path.open() as fh:
        rows = list(csv.DictReader(fh))
    cat = torch.tensor([[int(r["region"]), int(r["job"])] for r in rows])
    num = torch.tensor([[float(r[k]) for k in ("age", "income", "debt")] for r in rows])
    num = (num - num.mean(0)) / num.std(0)
    return cat, num, torch.tensor([float(r["defaulted"]) for r in rows])


def main(epochs=4, bs=25):
    torch.manual_seed(21)
    cat, num, y = load(Path(__file__).parent / "data" / "credit.csv")
    net = Scorer()
    emb = [*net.region.parameters(), *net.job.parameters()]
    opt = GroupAdam([
        {"params": emb, "lr": 2e-3, "max_norm": 0.05},
        {"params": net.body.parameters(), "weight_decay": 0.05, "max_norm": 0.5},
    ], lr=4e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda u: min(1.0, (u + 1) / 20))
    for e in range(epochs):
        acc = 0.0
        for b in torch.randperm(len(y)).split(bs):
            loss = nn.functional.binary_cross_entropy_with_logits(net(cat[b], num[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            acc += loss.item() * len(b) / len(y)
        print(f"{e}: bce {acc:.5f}  norms " + " / ".join(f"{g['last_norm']:.4f}" for g in opt.param_groups))
    print("param sum", round(sum(p.detach().double().abs().sum().item() for p in net.parameters()), 6))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
