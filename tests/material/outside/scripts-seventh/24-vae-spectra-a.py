"""Variational autoencoder for 1-d spectra (sums of peaks on a baseline).

ELBO = E_q[log p(x|z)] - beta * KL(q(z|x) || N(0, I)), both summed over dimensions and averaged
over the batch. beta rises linearly from 0 to 1 in the first `anneal` steps. Encoder and decoder
are trained jointly on one sample of z per spectrum.
"""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal, kl_divergence


def spectra(n, length=128, generator=None):
    t = torch.linspace(0, 1, length)
    x = torch.zeros(n, length)
    for _ in range(3):
        mu = torch.rand(n, 1, generator=generator)
        width = 0.01 + 0.04 * torch.rand(n, 1, generator=generator)
        height = torch.rand(n, 1, generator=generator)
        x += height * torch.exp(-0.5 * ((t - mu) / width) ** 2)
    slope = 0.3 * torch.randn(n, 1, generator=generator)
    return x + slope * (t - 0.5) + 0.05 * torch.randn(n, length, generator=generator)


class Encoder(nn.Module):
    def __init__(self, length, latent):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 5, 2, 2), nn.ELU(), nn.Conv1d(16, 32, 5, 2, 2), nn.ELU(),
            nn.Conv1d(32, 64, 5, 2, 2), nn.ELU(), nn.Flatten())
        self.mu = nn.Linear(64 * length // 8, latent)
        self.log_sigma = nn.Linear(64 * length // 8, latent)

    def forward(self, x):
        h = self.conv(x.unsqueeze(1))
        return Independent(Normal(self.mu(h), self.log_sigma(h).clamp(-7, 5).exp()), 1)


class Decoder(nn.Module):
    def __init__(self, length, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 128), nn.ELU(), nn.Linear(128, 256), nn.ELU(), nn.Linear(256, length))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def forward(self, z):
        return Independent(Normal(self.net(z), self.log_noise.exp()), 1)


class VAE(nn.Module):
    def __init__(self, length, latent):
        super().__init__()
        self.encoder = Encoder(length, latent)
        self.decoder = Decoder(length, latent)
        self.register_buffer("zero", torch.zeros(latent))

    @property
    def prior(self):
        return Independent(Normal(self.zero, torch.ones_like(self.zero)), 1)

    def elbo_terms(self, x):
        q = self.encoder(x)
        z = q.rsample()
        log_lik = self.decoder(z).log_prob(x)
        kl = kl_divergence(q, self.prior)
        return log_lik.mean(), kl.mean()


def run(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gen = torch.Generator().manual_seed(args.seed)
    train, test = spectra(args.n_train, generator=gen), spectra(2000, generator=gen).to(device)
    vae = VAE(train.size(1), args.latent).to(device)
    opt = torch.optim.Adam(vae.parameters(), lr=args.lr)

    step = 0
    for epoch in range(1, args.epochs + 1):
        vae.train()
        sums = torch.zeros(2)
        batches = torch.randperm(len(train)).split(args.batch_size)
        for idx in batches:
            beta = min(1.0, step / args.anneal)
            log_lik, kl = vae.elbo_terms(train[idx].to(device))
            loss = -log_lik + beta * kl
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(vae.parameters(), args.clip)
            opt.step()
            sums += torch.tensor([log_lik.item(), kl.item()])
            step += 1
        vae.eval()
        with torch.no_grad():
            ll, kl = vae.elbo_terms(test)
        tr = sums / len(batches)
        print(f"epoch {epoch:3d} beta {beta:.2f} train ll {tr[0]:.2f} kl {tr[1]:.2f} "
              f"test elbo {(ll - kl).item():.2f} (ll {ll.item():.2f}, kl {kl.item():.2f})")
    torch.save(vae.state_dict(), args.out)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--n_train", type=int, default=20000)
    p.add_argument("--latent", type=int, default=12)
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--batch_size", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--anneal", type=int, default=2000)
    p.add_argument("--clip", type=float, default=100.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="vae.pt")
    run(p.parse_args())
