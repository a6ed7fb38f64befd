"""Multi-task regression/classification on tabular data with PCGrad."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_data(n, n_features, seed):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, n_features, generator=gen)
    w = torch.randn(n_features, 3, generator=torch.Generator().manual_seed(99))
    price = x @ w[:, 0] + 0.3 * x[:, 0] * x[:, 1]
    churn = ((x @ w[:, 1] - 0.5 * price) > 0).float()
    visits = torch.tanh(x @ w[:, 2]) - 0.2 * price
    return x, price, churn, visits


class SharedBottom(nn.Module):
    def __init__(self, n_features, hidden):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.price = nn.Linear(hidden, 1)
        self.churn = nn.Linear(hidden, 1)
        self.visits = nn.Linear(hidden, 1)

    def forward(self, x):
        z = self.trunk(x)
        return self.price(z).squeeze(-1), self.churn(z).squeeze(-1), self.visits(z).squeeze(-1)


def task_losses(model, batch):
    x, price, churn, visits = batch
    p, c, v = model(x)
    return [
        F.mse_loss(p, price),
        F.binary_cross_entropy_with_logits(c, churn),
        F.smooth_l1_loss(v, visits),
    ]


def flat_grad(loss, params):
    grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
    return torch.cat([
        (torch.zeros_like(p) if g is None else g).reshape(-1) for p, g in zip(params, grads)
    ])


def pcgrad(grads):
    """Project away conflicting components, see Yu et al. 2020."""
    projected = [g.clone() for g in grads]
    for i, g_i in enumerate(projected):
        others = [j for j in range(len(grads)) if j != i]
        random.shuffle(others)
        for j in others:
            g_j = grads[j]
            dot = torch.dot(g_i, g_j)
            if dot < 0:
                g_i -= dot / (g_j.dot(g_j) + 1e-12) * g_j
    return torch.stack(projected).sum(0)


def assign_grad(flat, params):
    offset = 0
    for p in params:
        n = p.numel()
        p.grad = flat[offset:offset + n].view_as(p).clone()
        offset += n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    random.seed(args.seed)
    train = make_data(4096, 12, 1)
    test = make_data(1024, 12, 2)

    model = SharedBottom(12, args.hidden)
    params = list(model.parameters())
    optimizer = torch.optim.Adam(params, lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for idx in torch.randperm(len(train[0])).split(args.batch_size):
            losses = task_losses(model, [t[idx] for t in train])
            grads = [flat_grad(loss, params) for loss in losses]
            assign_grad(pcgrad(grads), params)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = [loss.item() for loss in task_losses(model, test)]
        print(f"epoch {epoch} price {val[0]:.3f} churn {val[1]:.3f} visits {val[2]:.3f}")


if __name__ == "__main__":
    main()
