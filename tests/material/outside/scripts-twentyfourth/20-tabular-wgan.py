import argparse
import csv
import itertools
import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import trange

# Synthetic sensor readings with WGAN-GP. Input: a csv of numeric columns with a header line.

LATENT = 16


def read_numeric_csv(path, drop=()):
    with open(path, newline="") as f:
        reader = csv.DictReader(f)
        cols = [c for c in reader.fieldnames if c not in drop]
        rows = []
        for row in reader:
            try:
                rows.append([float(row[c]) for c in cols])
            except ValueError:
                continue  # missing reading
    return np.asarray(rows, dtype=np.float32), cols


def mlp(sizes, norm):
    layers = []
    for a, b in itertools.pairwise(sizes[:-1]):
        layers.append(nn.Linear(a, b))
        if norm:
            layers.append(nn.LayerNorm(b))
        layers.append(nn.LeakyReLU(0.2))
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    return nn.Sequential(*layers)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    grad, = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def moments_gap(real, fake):
    mean_gap = (real.mean(0) - fake.mean(0)).abs().mean()
    cov_gap = (torch.cov(real.T) - torch.cov(fake.T)).abs().mean()
    return mean_gap.item(), cov_gap.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", default=os.environ.get("SENSOR_CSV"))
    ap.add_argument("--drop", nargs="*", default=["timestamp", "id"])
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--n-critic", type=int, default=5)
    ap.add_argument("--gp", type=float, default=10.0)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--save", default="wgan.pt")
    args = ap.parse_args()
    if not args.csv:
        ap.error("--csv or SENSOR_CSV is needed")

    torch.manual_seed(31)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    x, cols = read_numeric_csv(args.csv, set(args.drop))
    mean, std = x.mean(0), x.std(0) + 1e-6
    x = torch.from_numpy((x - mean) / std)
    loader = DataLoader(TensorDataset(x), batch_size=args.batch_size, shuffle=True, drop_last=True)
    print(f"{len(x)} rows, columns: {', '.join(cols)}")

    G = mlp([LATENT, 64, 64, len(cols)], norm=True).to(device)
    D = mlp([len(cols), 64, 64, 1], norm=False).to(device)
    opt_g = torch.optim.Adam(G.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=args.lr, betas=(0.0, 0.9))

    iteration = 0
    bar = trange(args.epochs, mininterval=2)
    for epoch in bar:
        w_dist = 0.0
        for (real,) in loader:
            real = real.to(device)
            iteration += 1

            # critic
            with torch.no_grad():
                fake = G(torch.randn(real.size(0), LATENT, device=device))
            wasserstein = D(real).mean() - D(fake).mean()
            d_loss = -wasserstein + args.gp * gradient_penalty(D, real, fake)
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            w_dist += wasserstein.item()

            # generator, every n_critic critic updates
            if iteration % args.n_critic == 0:
                z = torch.randn(real.size(0), LATENT, device=device)
                g_loss = -D(G(z)).mean()
                opt_g.zero_grad()
                g_loss.backward()
                opt_g.step()
        bar.set_postfix(w=f"{w_dist / len(loader):.3f}")

    with torch.no_grad():
        sample = G(torch.randn(len(x), LATENT, device=device)).cpu()
    print("mean gap %.3f, covariance gap %.3f" % moments_gap(x, sample))
    torch.save({"G": G.state_dict(), "D": D.state_dict(), "mean": mean, "std": std, "columns": cols}, args.save)


if __name__ == "__main__":
    main()
