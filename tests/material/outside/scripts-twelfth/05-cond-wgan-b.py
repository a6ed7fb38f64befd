"""Conditional WGAN-GP that mimics a fast detector simulation."""
import json
import sys
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class WGANConfig:
    data: str = "data/particles.npz"
    latent: int = 16
    hidden: int = 128
    batch_size: int = 64
    n_critic: int = 5
    gp_weight: float = 10.0
    lr: float = 1e-4
    steps: int = 20000
    log_every: int = 100


def mlp(i, h, o):
    return nn.Sequential(
        nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o)
    )


def forever(loader):
    while True:
        yield from loader


class WGAN:
    def __init__(self, cfg, x_dim, c_dim, device):
        self.cfg, self.device = cfg, device
        self.gen = mlp(cfg.latent + c_dim, cfg.hidden, x_dim).to(device)
        self.critic = mlp(x_dim + c_dim, cfg.hidden, 1).to(device)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=cfg.lr, betas=(0.0, 0.9))
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=cfg.lr, betas=(0.0, 0.9))

    def sample(self, cond):
        z = torch.randn(cond.size(0), self.cfg.latent, device=self.device)
        return self.gen(torch.cat([z, cond], 1))

    def score(self, x, cond):
        return self.critic(torch.cat([x, cond], 1)).squeeze(1)

    def gradient_penalty(self, real, fake, cond):
        alpha = torch.rand(real.size(0), 1, device=self.device)
        inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        out = self.score(inter, cond)
        grad = torch.autograd.grad(out.sum(), inter, create_graph=True)[0]
        return ((grad.norm(2, dim=1) - 1) ** 2).mean()

    def critic_step(self, real, cond):
        with torch.no_grad():
            fake = self.sample(cond)
        self.opt_c.zero_grad()
        wdist = self.score(real, cond).mean() - self.score(fake, cond).mean()
        gp = self.gradient_penalty(real, fake, cond)
        loss = -wdist + self.cfg.gp_weight * gp
        loss.backward()
        self.opt_c.step()
        return wdist.item(), gp.item()

    def gen_step(self, cond):
        self.opt_g.zero_grad()
        loss = -self.score(self.sample(cond), cond).mean()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def fit(self, loader):
        stream = forever(loader)
        for step in range(1, self.cfg.steps + 1):
            for _ in range(self.cfg.n_critic):
                real, cond = (t.to(self.device) for t in next(stream))
                wdist, gp = self.critic_step(real, cond)
            g = self.gen_step(cond)
            if step % self.cfg.log_every == 0:
                print(json.dumps({"step": step, "w": wdist, "gp": gp, "gen": g}))


def main():
    cfg = WGANConfig()
    for arg in sys.argv[1:]:
        k, v = arg.lstrip("-").split("=")
        setattr(cfg, k, type(getattr(cfg, k))(v))
    torch.manual_seed(0)
    blob = np.load(cfg.data)
    x, c = torch.from_numpy(blob["x"]), torch.from_numpy(blob["cond"])
    x = (x - x.mean(0)) / x.std(0)
    ds = torch.utils.data.TensorDataset(x, c)
    loader = torch.utils.data.DataLoader(ds, cfg.batch_size, shuffle=True, drop_last=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gan = WGAN(cfg, x.size(1), c.size(1), device)
    gan.fit(loader)
    torch.save({"cfg": asdict(cfg), "gen": gan.gen.state_dict()}, "fastsim.pt")


if __name__ == "__main__":
    main()
