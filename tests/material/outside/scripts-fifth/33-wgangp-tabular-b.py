import argparse

import numpy as np
import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc, self.bn = nn.Linear(i, o), nn.BatchNorm1d(o)

    def forward(self, x):
        return torch.cat([torch.relu(self.bn(self.fc(x))), x], 1)


class Generator(nn.Module):
    def __init__(self, z, out, hidden=128):
        super().__init__()
        self.net = nn.Sequential(Residual(z, hidden), Residual(z + hidden, hidden), nn.Linear(z + 2 * hidden, out))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self, dim, hidden=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden),
                                 nn.LeakyReLU(0.2), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def make_table(n, seed):
    """age, log income, hours, debt: correlated, with two kinds of people."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.35
    age = np.where(kind, rng.normal(27, 4, n), rng.normal(48, 9, n))
    income = 9.5 + 0.015 * age + np.where(kind, -0.4, 0.2) + rng.normal(0, 0.25, n)
    hours = np.where(kind, rng.normal(22, 6, n), rng.normal(39, 3, n))
    debt = np.maximum(0, 3 * (11 - income) + rng.normal(0, 1, n))
    x = np.stack([age, income, hours, debt], 1)
    return torch.tensor((x - x.mean(0)) / x.std(0), dtype=torch.float32)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1, device=real.device)
    mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mix)
    grad, = torch.autograd.grad(score.sum(), mix, create_graph=True)
    return (grad.norm(2, dim=1) - 1).pow(2).mean()


def sliced_distance(a, b, projections=64):
    d = torch.randn(a.size(1), projections, device=a.device)
    d = d / d.norm(dim=0)
    return ((a @ d).sort(0)[0] - (b @ d).sort(0)[0]).abs().mean().item()


def infinite(data, batch, generator):
    while True:
        for idx in torch.randperm(len(data), generator=generator).split(batch):
            if len(idx) == batch:
                yield data[idx]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=10000)
    p.add_argument("--gen-steps", type=int, default=3000)
    p.add_argument("--n-critic", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--z", type=int, default=32)
    p.add_argument("--lambda-gp", type=float, default=10.0)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    table = make_table(args.rows, args.seed)
    holdout = make_table(2000, args.seed + 1).to(device)
    stream = infinite(table, args.batch_size, torch.Generator().manual_seed(args.seed))
    gen, critic = Generator(args.z, table.size(1)).to(device), Critic(table.size(1)).to(device)
    opt_g = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.5, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.5, 0.9))

    for step in range(1, args.gen_steps + 1):
        gen.train()
        for _ in range(args.n_critic):
            real = next(stream).to(device)
            with torch.no_grad():
                fake = gen(torch.randn(args.batch_size, args.z, device=device))
            gap = critic(real).mean() - critic(fake).mean()
            gp = gradient_penalty(critic, real, fake)
            loss_c = -gap + args.lambda_gp * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()

        loss_g = -critic(gen(torch.randn(args.batch_size, args.z, device=device))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()

        if step % args.log_every == 0 or step == args.gen_steps:
            gen.eval()
            with torch.no_grad():
                sample = gen(torch.randn(len(holdout), args.z, device=device))
            print(f"step {step} gap {gap.item():+.3f} gp {gp.item():.4f} swd {sliced_distance(sample, holdout):.4f}")
    torch.save(gen.state_dict(), "tabular_generator.pt")


if __name__ == "__main__":
    main()
