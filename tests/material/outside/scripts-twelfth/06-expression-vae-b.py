import argparse
import csv

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence


class ExpressionVAE(nn.Module):
    def __init__(self, n_genes, n_hidden=128, n_latent=10):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_genes, n_hidden), nn.LayerNorm(n_hidden), nn.ReLU(), nn.Dropout(0.1)
        )
        self.loc = nn.Linear(n_hidden, n_latent)
        self.log_scale = nn.Linear(n_hidden, n_latent)
        self.decoder = nn.Sequential(
            nn.Linear(n_latent, n_hidden), nn.LayerNorm(n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_genes)
        )

    def encode(self, counts):
        h = self.encoder(torch.log1p(counts))
        return Normal(self.loc(h), self.log_scale(h).clamp(-6, 3).exp())

    def forward(self, counts):
        posterior = self.encode(counts)
        z = posterior.sample()
        library = counts.sum(1, keepdim=True)
        rate = F.softmax(self.decoder(z), dim=1) * library
        return rate, posterior


def elbo(model, counts, beta):
    rate, posterior = model(counts)
    recon = F.poisson_nll_loss(rate, counts, log_input=False, reduction="none").sum(1)
    prior = Normal(torch.zeros_like(posterior.loc), torch.ones_like(posterior.scale))
    kl = kl_divergence(posterior, prior).sum(1)
    return (recon + beta * kl).mean(), recon.mean(), kl.mean()


def fake_counts(n=400, genes=60, clusters=4, seed=0):
    rng = np.random.default_rng(seed)
    profiles = rng.gamma(0.6, 1.0, size=(clusters, genes))
    which = rng.integers(0, clusters, n)
    depth = rng.lognormal(1.0, 0.3, size=(n, 1))
    return rng.poisson(profiles[which] * depth).astype(np.float32)


def run(args):
    torch.manual_seed(args.seed)
    counts = np.load(args.counts) if args.counts else fake_counts()
    counts = torch.from_numpy(counts[counts.sum(1) > 0].astype(np.float32))
    perm = torch.randperm(len(counts))
    n_val = len(counts) // 10
    val, train = counts[perm[:n_val]], counts[perm[n_val:]]

    model = ExpressionVAE(counts.size(1), n_latent=args.latent)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)

    with open(args.log, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["epoch", "train", "val", "recon", "kl", "beta"])
        for epoch in range(args.epochs):
            beta = min(1.0, (epoch + 1) / args.kl_warmup)
            model.train()
            total = 0.0
            for batch in train[torch.randperm(len(train))].split(args.batch_size):
                opt.zero_grad()
                loss, _, _ = elbo(model, batch, beta)
                loss.backward()
                opt.step()
                total += loss.item() * len(batch)
            sched.step()
            model.eval()
            with torch.no_grad():
                v, rec, kl = elbo(model, val, 1.0)
            writer.writerow([epoch, total / len(train), v.item(), rec.item(), kl.item(), beta])
            print(f"{epoch:3d} train {total / len(train):.2f} val {v.item():.2f} kl {kl.item():.2f}")

    model.eval()
    with torch.no_grad():
        np.save("latent.npy", model.encode(counts).loc.numpy())


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--counts", default=None)
    ap.add_argument("--latent", type=int, default=10)
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--kl-warmup", type=int, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--log", default="vae_log.csv")
    run(ap.parse_args())
