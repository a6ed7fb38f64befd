"""Small convnet with Lightning Fabric.

Gradients are averaged over `accumulate` micro batches, so that
(batch_size=32, accumulate=4) walks the same path as (batch_size=128, accumulate=1)
up to the batch norm statistics.
"""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.fabric import Fabric, seed_everything
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    devices: int = 1
    accelerator: str = "auto"
    precision: str = "32-true"
    n_train: int = 4096
    n_val: int = 1024
    classes: int = 8
    batch_size: int = 32
    accumulate: int = 4
    epochs: int = 6
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    clip: float = 5.0
    seed: int = 7


def make_data(n: int, classes: int, gen: torch.Generator) -> TensorDataset:
    """Oriented gratings + noise; the class is the orientation."""
    y = torch.randint(classes, (n,), generator=gen)
    theta = y.float() * torch.pi / classes
    grid = torch.linspace(-3, 3, 28)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    phase = torch.rand(n, 1, 1, generator=gen) * 6.28
    wave = torch.sin(3 * (xx * theta.cos().view(-1, 1, 1) + yy * theta.sin().view(-1, 1, 1)) + phase)
    x = wave + 0.8 * torch.randn(n, 28, 28, generator=gen)
    return TensorDataset(x.unsqueeze(1), y)


class Net(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))
        self.features = nn.Sequential(block(1, 16), block(16, 32), block(32, 64))
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


@torch.no_grad()
def validate(fabric: Fabric, model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    hits = torch.zeros(2, device=fabric.device)
    for x, y in loader:
        hits[0] += (model(x).argmax(1) == y).sum()
        hits[1] += y.numel()
    hits = fabric.all_reduce(hits, reduce_op="sum")
    model.train()
    return (hits[0] / hits[1]).item()


def main(cfg: Config) -> None:
    seed_everything(cfg.seed)
    fabric = Fabric(accelerator=cfg.accelerator, devices=cfg.devices, precision=cfg.precision)
    fabric.launch()

    gen = torch.Generator().manual_seed(cfg.seed)
    train = DataLoader(make_data(cfg.n_train, cfg.classes, gen), batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    val = DataLoader(make_data(cfg.n_val, cfg.classes, gen), batch_size=256)
    train, val = fabric.setup_dataloaders(train, val)

    model = Net(cfg.classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum,
                                weight_decay=cfg.weight_decay, nesterov=True)
    model, optimizer = fabric.setup(model, optimizer)

    # whole groups only; the rest of an epoch is left out (the loader shuffles)
    usable = len(train) // cfg.accumulate * cfg.accumulate
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, T_max=cfg.epochs * usable // cfg.accumulate)

    for epoch in range(cfg.epochs):
        running = 0.0
        for i, (x, y) in enumerate(train):
            if i >= usable:
                break
            is_accumulating = (i + 1) % cfg.accumulate != 0
            with fabric.no_backward_sync(model, enabled=is_accumulating):
                loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
                fabric.backward(loss)
            running += loss.item()

            if not is_accumulating:
                fabric.clip_gradients(model, optimizer, max_norm=cfg.clip)
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()

        acc = validate(fabric, model, val)
        fabric.print(f"epoch {epoch} loss {running / usable:.4f} val acc {acc:.3f} lr {scheduler.get_last_lr()[0]:.4f}")

    fabric.save("fabric_net.ckpt", {"model": model, "optimizer": optimizer, "cfg": cfg.__dict__})


if __name__ == "__main__":
    main(Config())
