"""Building-energy regression with mixed precision."""
import numpy as np
import torch
from torch import nn
from torch.amp import GradScaler, autocast

rng = np.random.default_rng(17)
torch.manual_seed(17)
DEV = "cuda" if torch.cuda.is_available() else "cpu"
HALF = torch.float16 if DEV == "cuda" else torch.bfloat16


def simulate(n):
    area = rng.uniform(50, 400, n)
    glazing = rng.uniform(0.1, 0.6, n)
    height = rng.choice([2.7, 3.0, 3.5], n)
    insulation = rng.uniform(0.1, 1.5, n)
    outdoor = rng.normal(5, 8, n)
    load = (20 - outdoor) * (area * height * 0.01 + area * glazing * 0.08) * (0.4 + 0.6 * insulation)
    x = np.stack([area, glazing, height, insulation, outdoor], 1)
    return x, load + rng.normal(0, 10, n)


def standardise(a):
    return torch.tensor((a - a.mean(0)) / a.std(0), dtype=torch.float32, device=DEV)


def net():
    return nn.Sequential(nn.Linear(5, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1)).to(DEV)


def fit_batch(model, optimizer, scaler, x, y, max_norm):
    optimizer.zero_grad(set_to_none=True)
    with autocast(DEV, dtype=HALF):
        pred = model(x).squeeze(-1)
    loss = nn.functional.huber_loss(pred.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.update()
    scaler.step(optimizer)
    return loss.item()


def r2(model, x, y):
    with torch.no_grad():
        res = y - model(x).squeeze(-1)
    return 1 - (res.pow(2).sum() / (y - y.mean()).pow(2).sum()).item()


def main(epochs=5, batch=64, lr=0.05, max_norm=1.0):
    x, y = simulate(2000)
    x, y = standardise(x), standardise(y)
    tr, te = slice(0, 1600), slice(1600, None)
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
    scaler = GradScaler(DEV, init_scale=2.0 ** 12, growth_interval=500)
    for epoch in range(epochs):
        perm = torch.randperm(1600, device=DEV)
        losses = [fit_batch(model, optimizer, scaler, x[tr][i], y[tr][i], max_norm) for i in perm.split(batch)]
        print(f"epoch {epoch}: loss {np.mean(losses):.4f} R2 {r2(model, x[te], y[te]):.3f} scale {scaler.get_scale():.0f}")


if __name__ == "__main__":
    main()
