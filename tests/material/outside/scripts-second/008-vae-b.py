import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, d=12, z=3, h=24):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.Tanh())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.Tanh(), nn.Linear(h, d))

    def forward(self, x):
        h = self.enc(x)
        posterior = Normal(self.mu(h), (0.5 * self.logvar(h)).exp())
        z = posterior.rsample()
        return self.dec(z), posterior


def elbo(x, recon, posterior, beta=1.0):
    rec = F.mse_loss(recon, x, reduction="none").sum(1)
    kl = kl_divergence(posterior, Normal(0.0, 1.0)).sum(1)
    return (rec + beta * kl).mean()


def main():
    torch.manual_seed(0)
    data = torch.randn(256, 3) @ torch.randn(3, 12)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        perm = torch.randperm(len(data))
        total = 0.0
        for idx in perm.split(32):
            recon, post = model(data[idx])
            loss = elbo(data[idx], recon, post, beta=min(1.0, 0.25 * (epoch + 1)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}: {total / len(data):.3f}")


if __name__ == "__main__":
    main()
