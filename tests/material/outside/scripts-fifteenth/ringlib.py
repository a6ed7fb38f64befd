import numpy as np
import torch
from torch import nn


def load_ring(path):
    with np.load(path) as f:
        return torch.from_numpy(f["xy"])


def mlp(i, o, h=64, act=nn.LeakyReLU):
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


def modes_hit(samples, n_modes=8, radius=2.0, tol=0.3):
    ang = torch.arange(n_modes) * 2 * torch.pi / n_modes
    centres = radius * torch.stack([ang.cos(), ang.sin()], 1)
    d = torch.cdist(samples, centres)
    near, idx = d.min(1)
    ok = near < tol
    return len(set(idx[ok].tolist())), ok.float().mean().item()
