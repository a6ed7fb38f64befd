"""Order of one step: clear, forward, backward, clip, update. Complete and runnable."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Config:
    seed: int = 0
    lr: float = 0.05
    epochs: int = 2
    max_norm: float = 1.0


def build_model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))


def build_loader() -> DataLoader:
    gen = torch.Generator().manual_seed(42)
    x = torch.randn(96, 8, generator=gen)
    y = 10 * x[:, :1] + torch.randn(96, 1, generator=gen)
    return DataLoader(TensorDataset(x, y), batch_size=16)


def train_step(model, batch, criterion, optimizer, max_norm):
    x, y = batch
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # the gradients of this very batch
    optimizer.step()
    return loss.item(), norm.item()


def main(cfg: Config) -> nn.Module:
    torch.manual_seed(cfg.seed)
    model, loader, criterion = build_model(), build_loader(), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for step, batch in enumerate(loader):
            loss, norm = train_step(model, batch, criterion, optimizer, cfg.max_norm)
            print(f"epoch {epoch} step {step}: loss {loss:.3f}, grad norm {norm:.3f}")
    return model


if __name__ == "__main__":
    main(Config())
