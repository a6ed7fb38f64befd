import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from lightning.fabric import Fabric, seed_everything
from torch.utils.data import DataLoader, TensorDataset

DEFAULTS = """
seed: 7
accelerator: auto
epochs: 3
batch_size: 16
accumulate: 4
lr: 0.1
noise: 0.4
clip_norm: 0.02
dims: [64, 32, 8]
"""


def load_config():
    cfg = yaml.safe_load(DEFAULTS)
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
        cfg.update(yaml.safe_load(Path(sys.argv[1]).read_text()) or {})
    return cfg


class DenoisingAE(nn.Module):
    def __init__(self, dims):
        super().__init__()
        enc, dec = [], []
        for a, b in zip(dims[:-1], dims[1:]):
            enc += [nn.Linear(a, b), nn.ReLU()]
        for a, b in zip(dims[:0:-1], dims[-2::-1]):
            dec += [nn.Linear(a, b), nn.ReLU()]
        self.encoder, self.decoder = nn.Sequential(*enc[:-1]), nn.Sequential(*dec[:-1])

    def forward(self, x):
        return self.decoder(self.encoder(x))


def make_data(dim, n=832):
    t = torch.linspace(0, 6.28, dim)
    k = torch.randint(1, 5, (n, 1)).float()
    ph = torch.rand(n, 1) * 6.28
    return TensorDataset(torch.sin(k * t + ph))


def main():
    cfg = load_config()
    fabric = Fabric(accelerator=cfg["accelerator"], devices=1)
    fabric.launch()
    seed_everything(cfg["seed"])

    loader = DataLoader(make_data(cfg["dims"][0]), batch_size=cfg["batch_size"], shuffle=True, drop_last=True)
    model = DenoisingAE(cfg["dims"])
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(loader)

    k = cfg["accumulate"]
    for epoch in range(cfg["epochs"]):
        total = 0.0
        for i, (clean,) in enumerate(loader):
            is_accumulating = (i + 1) % k != 0
            with fabric.no_backward_sync(model, enabled=is_accumulating):
                noisy = clean + cfg["noise"] * torch.randn_like(clean)
                loss = F.mse_loss(model(noisy), clean)
                fabric.backward(loss / k)
            if not is_accumulating:
                fabric.clip_gradients(model, optimizer, max_norm=cfg["clip_norm"])
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item()
        fabric.print(f"epoch {epoch}: mse {total / len(loader):.4f}")
    fabric.save("dae.ckpt", {"model": model, "cfg": cfg})


if __name__ == "__main__":
    main()
