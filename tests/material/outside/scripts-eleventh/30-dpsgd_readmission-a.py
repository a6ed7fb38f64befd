"""Hospital readmission risk with differentially private SGD (per-sample clipping and Gaussian noise).
patients.csv: numeric feature columns plus binary column 'readmitted'."""
import argparse
import math

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


def load_csv(path, seed):
    df = pd.read_csv(path)
    y = df.pop("readmitted").to_numpy(np.float32)
    x = df.to_numpy(np.float32)
    x = np.where(np.isnan(x), np.nanmedian(x, 0), x)
    perm = np.random.default_rng(seed).permutation(len(x))
    cut = int(0.8 * len(x))
    tr, va = perm[:cut], perm[cut:]
    mu, sd = x[tr].mean(0), x[tr].std(0) + 1e-6
    x = np.clip((x - mu) / sd, -5, 5)
    to = lambda a: torch.from_numpy(np.ascontiguousarray(a)).float()
    return (to(x[tr]), to(y[tr])), (to(x[va]), to(y[va]))


class RiskNet(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class PrivateGradient:
    """Fills .grad with the clipped, noised per-sample gradient sum over the expected batch size."""

    def __init__(self, model, max_norm, noise_multiplier, expected_batch):
        self.model = model
        self.max_norm, self.sigma, self.expected = max_norm, noise_multiplier, expected_batch

        def sample_loss(params, x, y):
            logit = functional_call(model, params, (x[None],))
            return F.binary_cross_entropy_with_logits(logit, y[None])

        self.per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))

    def __call__(self, x, y):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        clipped_frac = 0.0
        sums = {n: torch.zeros_like(p) for n, p in params.items()}
        if len(x):
            grads = self.per_sample(params, x, y)
            for n, g in grads.items():
                norms = g.flatten(1).norm(dim=1)
                factor = (self.max_norm / (norms + 1e-6)).clamp(max=1.0)
                clipped_frac += (factor < 1).float().mean().item() / len(grads)
                sums[n] = torch.einsum("b,b...->...", factor, g)
        for n, p in self.model.named_parameters():
            noise = torch.randn_like(p) * self.sigma * self.max_norm
            p.grad = (sums[n] + noise) / self.expected
        return clipped_frac


def poisson_batches(n, rate, steps):
    for _ in range(steps):
        yield torch.nonzero(torch.rand(n) < rate).squeeze(1)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logit = model(x)
    loss = F.binary_cross_entropy_with_logits(logit, y).item()
    order = torch.argsort(logit)
    ranks = torch.empty(len(y), dtype=torch.float64)
    ranks[order.cpu()] = torch.arange(1, len(y) + 1, dtype=torch.float64)
    pos = (y > 0.5).cpu()
    n1, n0 = int(pos.sum()), int((~pos).sum())
    auc = (ranks[pos].sum().item() - n1 * (n1 + 1) / 2) / max(1, n1 * n0)
    return loss, auc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", default="patients.csv")
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--batch", type=int, default=256, help="expected size of a Poisson batch")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--lr", type=float, default=0.5)
    ap.add_argument("--momentum", type=float, default=0.9)
    ap.add_argument("--max-norm", type=float, default=1.0)
    ap.add_argument("--sigma", type=float, default=1.1)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="readmission_dp.pt")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    (x, y), (xv, yv) = ((a.to(device), b.to(device)) for a, b in load_csv(args.csv, args.seed))
    rate = min(1.0, args.batch / len(x))
    steps = math.ceil(1 / rate)
    model = RiskNet(x.size(1), args.hidden).to(device)
    private_grad = PrivateGradient(model, args.max_norm, args.sigma, rate * len(x))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * steps)

    for epoch in range(args.epochs):
        model.train()
        frac = 0.0
        for idx in poisson_batches(len(x), rate, steps):
            idx = idx.to(device)
            frac += private_grad(x[idx], y[idx])
            optimizer.step()
            scheduler.step()
        loss, auc = evaluate(model, xv, yv)
        print(f"epoch {epoch:02d} val loss {loss:.4f} auc {auc:.4f} clipped {frac / steps:.2f} "
              f"lr {scheduler.get_last_lr()[0]:.3f}")
    torch.save({"model": model.state_dict(), "args": vars(args)}, args.out)


if __name__ == "__main__":
    main()
