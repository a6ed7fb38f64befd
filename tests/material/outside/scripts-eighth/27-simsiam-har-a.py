"""SimSiam pre-training on unlabelled accelerometer windows, then a linear probe.

Data: data/har/unlabelled.npy  (N, 3, 128) float32
      data/har/labelled.npz    x_train, y_train, x_test, y_test
"""
import dataclasses
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml


@dataclasses.dataclass
class Settings:
    root: str = "data/har"
    dim: int = 128
    proj: int = 256
    pred: int = 64
    batch: int = 256
    epochs: int = 100
    lr: float = 0.05
    weight_decay: float = 1e-4
    probe_epochs: int = 100
    seed: int = 0

    @classmethod
    def from_file(cls, path):
        with open(path) as f:
            return cls(**yaml.safe_load(f))


def augment(x):
    n = x.size(0)
    x = x * (1 + 0.2 * torch.randn(n, x.size(1), 1, device=x.device))
    x = x + 0.05 * torch.randn_like(x)
    shift = torch.randint(0, x.size(2), (n, 1), device=x.device)
    idx = (torch.arange(x.size(2), device=x.device)[None] + shift) % x.size(2)
    x = x.gather(2, idx[:, None].expand_as(x))
    flip = torch.rand(n, 1, 1, device=x.device) < 0.5
    return torch.where(flip, x.flip(2), x)


def conv(i, o, k, s):
    return nn.Sequential(nn.Conv1d(i, o, k, s, k // 2, bias=False), nn.BatchNorm1d(o), nn.ReLU())


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(conv(3, 32, 7, 2), conv(32, 64, 5, 2), conv(64, dim, 3, 2), nn.AdaptiveAvgPool1d(1))

    def forward(self, x):
        return self.net(x).flatten(1)


class SimSiam(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.encoder = Encoder(s.dim)
        self.projector = nn.Sequential(
            nn.Linear(s.dim, s.proj, bias=False), nn.BatchNorm1d(s.proj), nn.ReLU(),
            nn.Linear(s.proj, s.proj, bias=False), nn.BatchNorm1d(s.proj, affine=False),
        )
        self.predictor = nn.Sequential(
            nn.Linear(s.proj, s.pred, bias=False), nn.BatchNorm1d(s.pred), nn.ReLU(), nn.Linear(s.pred, s.proj)
        )

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.encoder(x1)), self.projector(self.encoder(x2))
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1, z2


def pretrain(model, x, s, device):
    opt = torch.optim.SGD([
        {"params": list(model.encoder.parameters()) + list(model.projector.parameters())},
        {"params": model.predictor.parameters(), "constant": True},
    ], lr=s.lr * s.batch / 256, momentum=0.9, weight_decay=s.weight_decay)
    base = s.lr * s.batch / 256
    for epoch in range(s.epochs):
        for g in opt.param_groups:
            g["lr"] = base if g.get("constant") else base * 0.5 * (1 + np.cos(np.pi * epoch / s.epochs))
        model.train()
        total, spread, n = 0.0, 0.0, 0
        for idx in torch.randperm(len(x)).split(s.batch):
            if len(idx) < s.batch:
                continue
            xb = x[idx].to(device)
            p1, p2, z1, z2 = model(augment(xb), augment(xb))
            loss = -0.5 * (F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean())
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            spread += F.normalize(z1, dim=1).std(0).mean().item()
            n += 1
        if epoch % 5 == 0 or epoch == s.epochs - 1:
            print(f"epoch {epoch:3d} loss {total / n:.4f} std {spread / n:.4f} (1/sqrt(d) = {s.proj ** -0.5:.4f})")


def linear_probe(encoder, data, s, device):
    encoder.eval()
    with torch.no_grad():
        f = {k: encoder(torch.from_numpy(data["x_" + k]).float().to(device)) for k in ("train", "test")}
    y = {k: torch.from_numpy(data["y_" + k]).long().to(device) for k in ("train", "test")}
    head = nn.Linear(s.dim, int(y["train"].max()) + 1).to(device)
    opt = torch.optim.Adam(head.parameters(), lr=1e-2)
    for _ in range(s.probe_epochs):
        opt.zero_grad()
        F.cross_entropy(head(f["train"]), y["train"]).backward()
        opt.step()
    with torch.no_grad():
        return (head(f["test"]).argmax(1) == y["test"]).float().mean().item()


def main():
    s = Settings.from_file(sys.argv[1]) if len(sys.argv) > 1 else Settings()
    torch.manual_seed(s.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.from_numpy(np.load(f"{s.root}/unlabelled.npy")).float()
    model = SimSiam(s).to(device)
    pretrain(model, x, s, device)
    torch.save(model.encoder.state_dict(), f"{s.root}/simsiam_encoder.pt")
    acc = linear_probe(model.encoder, np.load(f"{s.root}/labelled.npz"), s, device)
    print(f"linear probe accuracy {acc:.4f}")


if __name__ == "__main__":
    main()
