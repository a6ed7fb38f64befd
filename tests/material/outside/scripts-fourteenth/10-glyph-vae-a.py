"""VAE with torch.distributions on 8x8 glyphs"""
import sys
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
torch.manual_seed(123)


class VAE(nn.Module):
    def __init__(self, d=64, h=64, z=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.SiLU())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.SiLU(), nn.Linear(h, d))

    def posterior(self, x):
        h = self.enc(x)
        return Normal(self.mu(h), (0.5 * self.logvar(h)).exp())

    def forward(self, x):
        q = self.posterior(x)
        z = q.sample()
        return self.dec(z), q


def elbo_terms(model, x):
    logits, q = model(x)
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    kl = kl_divergence(q, Normal(torch.zeros_like(q.loc), torch.ones_like(q.scale))).sum(1)
    return rec.mean(), kl.mean()


def main():
    raw = np.loadtxt("data/glyphs.txt", dtype=np.float32)[:, 1:]
    train = DataLoader(torch.from_numpy(raw[:700]), batch_size=50, shuffle=True)
    held = torch.from_numpy(raw[700:])
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(EPOCHS):
        beta = min(1.0, (epoch + 1) / 5)
        model.train()
        for x in train:
            rec, kl = elbo_terms(model, x)
            loss = rec + beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            r, k = elbo_terms(model, held)
        print(f"{epoch:02d} beta {beta:.1f} rec {r:.3f} kl {k:.3f} -elbo {r + k:.3f}")

    show(model)


@torch.no_grad()
def show(model, n=2):
    z = torch.randn(n, model.mu.out_features)
    for img in torch.sigmoid(model.dec(z)).view(n, 8, 8):
        print("\n".join("".join(" .:*#"[min(4, int(v * 5))] for v in row) for row in img.tolist()))
        print("-" * 8)


main()
