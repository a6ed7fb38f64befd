"""Small models with gradients, built the same way in every test."""

import torch
from torch import Tensor, nn


def net(seed: int = 0) -> nn.Sequential:
    """Three linear layers, 4 to 8 to 8 to 2."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def batch(n: int = 6, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Inputs (n, 4) and targets (n, 2)."""
    source = torch.Generator().manual_seed(seed)
    return torch.randn(n, 4, generator=source), torch.randn(n, 2, generator=source)


def with_gradients(scale: float = 1.0) -> nn.Sequential:
    """The net after one backward of ``scale`` times the mean squared error."""
    model, (x, y) = net(), batch()
    (scale * nn.functional.mse_loss(model(x), y)).backward()
    return model


def gradient(model: nn.Module) -> Tensor:
    """The whole gradient as one vector."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
