"""DP-SGD with per-sample gradients through torch.func."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
C, sigma, lr, batch = 0.5, 0.8, 0.5, 32
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
params = {k: p.detach().clone() for k, p in model.named_parameters()}
X = torch.randn(256, 6)
Y = (X[:, 0] > X[:, 1]).long()


def sample_loss(params, x, y):
    return F.cross_entropy(functional_call(model, params, x.unsqueeze(0)), y.unsqueeze(0))


per_sample_grad = vmap(grad(sample_loss), in_dims=(None, 0, 0))


def clip(grads, bound):
    sq = sum(g.flatten(1).pow(2).sum(1) for g in grads.values())
    factor = (bound / (sq.sqrt() + 1e-6)).clamp(max=1.0)
    return {k: torch.einsum("b,b...->b...", factor, g) for k, g in grads.items()}


for step in range(40):
    idx = torch.randperm(256)[:batch]
    grads = clip(per_sample_grad(params, X[idx], Y[idx]), C)
    for k, g in grads.items():
        noisy = g.sum(0) + sigma * C * torch.randn_like(params[k])
        params[k] = params[k] - lr * noisy / batch
    if step % 10 == 0:
        acc = (functional_call(model, params, X).argmax(1) == Y).float().mean().item()
        print(f"step {step} acc {acc:.3f}")
print("checksum", sum(p.abs().sum().item() for p in params.values()))
