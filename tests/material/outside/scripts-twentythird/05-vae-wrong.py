"""Convolution-free VAE on synthetic 16x16 bar images."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


@dataclass
class HParams:
    latent: int = 6
    hidden: int = 128
    epochs: int = 12
    batch_size: int = 64
    lr: float = 2e-3
    beta: float = 1.0
    kl_warmup_epochs: int = 3
    seed: int = 3


def make_bars(n, size=16, generator=None):
    imgs = torch.zeros(n, size, size)
    horiz = torch.rand(n, generator=generator) < 0.5
    pos = torch.randint(1, size - 3, (n,), generator=generator)
    width = torch.randint(1, 4, (n,), generator=generator)
    level = 0.6 + 0.4 * torch.rand(n, generator=generator)
    for i in range(n):
        s = slice(int(pos[i]), int(pos[i] + width[i]))
        if horiz[i]:
            imgs[i, s, :] = level[i]
        else:
            imgs[i, :, s] = level[i]
    noise = 0.03 * torch.rand(imgs.shape, generator=generator)
    return (imgs + noise).clamp(0, 1).flatten(1)


class Encoder(nn.Module):
    def __init__(self, n_in, hidden, latent):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.log_sigma = nn.Linear(hidden, latent)

    def forward(self, x):
        h = self.body(x)
        return Normal(self.mu(h), self.log_sigma(h).clamp(-6, 3).exp())


class Decoder(nn.Sequential):
    def __init__(self, latent, hidden, n_out):
        super().__init__(
            nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_out)
        )


class VAE(nn.Module):
    def __init__(self, n_in, hp):
        super().__init__()
        self.encoder = Encoder(n_in, hp.hidden, hp.latent)
        self.decoder = Decoder(hp.latent, hp.hidden, n_in)

    def forward(self, x):
        q = self.encoder(x)
        z = q.sample()
        return self.decoder(z), q

    def elbo_terms(self, x):
        logits, q = self(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
        prior = Normal(torch.zeros_like(q.loc), torch.ones_like(q.scale))
        kl = kl_divergence(q, prior).sum(1)
        return rec.mean(), kl.mean()


def main(hp):
    torch.manual_seed(hp.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    g = torch.Generator().manual_seed(hp.seed)
    train_x, test_x = make_bars(1500, generator=g), make_bars(300, generator=g)
    loader = DataLoader(TensorDataset(train_x), batch_size=hp.batch_size, shuffle=True)

    model = VAE(train_x.size(1), hp).to(device)
    optim = torch.optim.Adam(model.parameters(), lr=hp.lr)

    for epoch in range(hp.epochs):
        beta = hp.beta * min(1.0, (epoch + 1) / hp.kl_warmup_epochs)
        model.train()
        bar = tqdm(loader, desc=f"epoch {epoch}", leave=False, disable=None)
        for (x,) in bar:
            x = x.to(device)
            rec, kl = model.elbo_terms(x)
            loss = rec + beta * kl
            optim.zero_grad(set_to_none=True)
            loss.backward()
            optim.step()
            bar.set_postfix(rec=f"{rec.item():.1f}", kl=f"{kl.item():.2f}")

        model.eval()
        with torch.no_grad():
            rec, kl = model.elbo_terms(test_x.to(device))
        print(f"epoch {epoch}: test rec {rec:.2f} kl {kl:.2f} -elbo {rec + kl:.2f}")

    with torch.no_grad():
        z = torch.randn(4, hp.latent, device=device)
        imgs = model.decoder(z).sigmoid().view(4, 16, 16)
    print("sample means:", [round(v, 3) for v in imgs.mean((1, 2)).tolist()])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=HParams.epochs)
    ap.add_argument("--beta", type=float, default=HParams.beta)
    ap.add_argument("--seed", type=int, default=HParams.seed)
    a = ap.parse_args()
    main(HParams(epochs=a.epochs, beta=a.beta, seed=a.seed))
