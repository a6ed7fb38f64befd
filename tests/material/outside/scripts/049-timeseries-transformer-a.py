"""Multivariate forecasting with a tiny transformer. Embedding and body are clipped separately."""
import math

import torch
from torch import nn


class C:
    series = 4
    context = 36
    horizon = 6
    d = 24
    heads = 3
    batch = 64
    steps = 120
    lr = 0.05
    clip = {"embed": 0.02, "body": 0.1}
    seed = 5


def make_data(length=2000):
    t = torch.arange(length).float()
    base = torch.stack([torch.sin(2 * math.pi * t / p) for p in (12, 24, 7, 50)], 1)
    mix = torch.tensor([[1, .5, 0, 0], [0, 1, .3, 0], [0, 0, 1, .6], [.4, 0, 0, 1]])
    x = base @ mix.t() + 0.1 * torch.randn(length, C.series)
    # rare spikes as in real sensors
    spikes = (torch.rand_like(x) < 0.003).float() * 8
    return x + spikes


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(C.series, C.d)
        self.pos = nn.Parameter(torch.zeros(C.context, C.d))
        enc = nn.TransformerEncoderLayer(C.d, C.heads, 2 * C.d, 0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(enc, 1, enable_nested_tensor=False)
        self.head = nn.Linear(C.d, C.series * C.horizon)

    def forward(self, x):
        h = self.body(self.embed(x) + self.pos)
        return self.head(h[:, -1]).view(-1, C.horizon, C.series)


def batch(data, lo, hi):
    start = torch.randint(lo, hi - C.context - C.horizon, (C.batch,))
    win = torch.stack([data[s:s + C.context + C.horizon] for s in start])
    return win[:, :C.context], win[:, C.context:]


@torch.no_grad()
def clip_groups(optimizer):
    """Scale every group's gradient to its own limit, returns the norms found."""
    found = {}
    for group in optimizer.param_groups:
        grads = [p.grad for p in group["params"] if p.grad is not None]
        norm = torch.sqrt(sum((g.pow(2).sum() for g in grads), torch.zeros(())))
        scale = (group["max_norm"] / (norm + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(scale)
        found[group["name"]] = norm.item()
    return found


def main():
    torch.manual_seed(C.seed)
    data = make_data()
    cut = int(0.8 * len(data))
    model = Forecaster()
    embed = [model.pos, *model.embed.parameters()]
    body = [*model.body.parameters(), *model.head.parameters()]
    optimizer = torch.optim.SGD([
        {"params": embed, "name": "embed", "max_norm": C.clip["embed"]},
        {"params": body, "name": "body", "max_norm": C.clip["body"]},
    ], lr=C.lr, momentum=0.9)
    avg = 0.0
    for step in range(1, C.steps + 1):
        x, y = batch(data, 0, cut)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norms = clip_groups(optimizer)
        optimizer.step()
        avg += loss.item()
        if step % 30 == 0:
            with torch.no_grad():
                xv, yv = batch(data, cut, len(data))
                val = nn.functional.mse_loss(model(xv), yv).item()
            print(f"step {step} train {avg / 30:.4f} val {val:.4f} " +
                  " ".join(f"|{k}| {v:.3f}" for k, v in norms.items()))
            avg = 0.0


if __name__ == "__main__":
    main()
