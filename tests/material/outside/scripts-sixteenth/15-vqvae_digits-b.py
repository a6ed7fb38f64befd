"""VQ-VAE on 8x8 images. Loss as in van den Oord et al. (2017):
reconstruction + |sg(z_e) - e|^2 + beta |z_e - sg(e)|^2, straight-through estimator.
"""
from dataclasses import dataclass, fields
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class HP:
    images: str = "data/digits8.npz"
    epochs: int = 6
    codes: int = 32
    dim: int = 8
    beta: float = 0.25
    lr: float = 3e-3
    batch: int = 50

    @classmethod
    def from_cli(cls, argv):
        hp = cls()
        types = {f.name: type(getattr(hp, f.name)) for f in fields(cls)}
        for a in argv:
            k, v = a.split("=", 1)
            setattr(hp, k, types[k](v))
        return hp


class VectorQuantizer(nn.Module):
    def __init__(self, n, dim, beta):
        super().__init__()
        self.codebook = nn.Embedding(n, dim)
        nn.init.uniform_(self.codebook.weight, -1 / n, 1 / n)
        self.beta = beta

    def forward(self, z):                       # z: (B, D, H, W)
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        w = self.codebook.weight
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ w.t() + w.pow(2).sum(1)
        idx = d.argmin(1)
        q = self.codebook(idx)
        codebook_loss = F.mse_loss(q.detach(), flat)
        commit_loss = F.mse_loss(flat, q.detach())
        q = flat + (q - flat).detach()
        q = q.view(z.size(0), z.size(2), z.size(3), -1).permute(0, 3, 1, 2)
        return q, codebook_loss + self.beta * commit_loss, idx


class VQVAE(nn.Module):
    def __init__(self, hp, width=24):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, hp.dim, 1))
        self.vq = VectorQuantizer(hp.codes, hp.dim, hp.beta)
        self.dec = nn.Sequential(
            nn.Conv2d(hp.dim, width, 3, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(width, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx


def perplexity(idx, n):
    p = torch.bincount(idx, minlength=n).float() / len(idx)
    return torch.exp(-(p * (p + 1e-10).log()).sum()).item()


def main():
    hp = HP.from_cli(sys.argv[1:])
    x = torch.from_numpy(np.load(hp.images)["images"]).float().unsqueeze(1) / 255 - 0.5
    train, test = x[:800], x[800:]
    model = VQVAE(hp)
    opt = torch.optim.Adam(model.parameters(), lr=hp.lr)
    for epoch in range(hp.epochs):
        model.train()
        rec_sum = vq_sum = 0.0
        for b in torch.randperm(len(train)).split(hp.batch):
            rec, vq_loss, _ = model(train[b])
            rec_loss = F.mse_loss(rec, train[b])
            loss = rec_loss + vq_loss
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            rec_sum += rec_loss.item() * len(b)
            vq_sum += vq_loss.item() * len(b)
        model.eval()
        with torch.no_grad():
            rec, _, idx = model(test)
            mse = F.mse_loss(rec, test).item()
        print(f"epoch {epoch}: rec {rec_sum / len(train):.4f} vq {vq_sum / len(train):.5f} "
              f"test mse {mse:.4f} perplexity {perplexity(idx, hp.codes):.1f}")


if __name__ == "__main__":
    main()
