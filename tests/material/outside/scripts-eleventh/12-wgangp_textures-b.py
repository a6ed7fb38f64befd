import os
from pathlib import Path

import click
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from PIL import Image
from torch.utils.data import DataLoader, Dataset

DEFAULTS = dict(size=64, z_dim=128, ch=64, batch=64, n_critic=5, gp=10.0, lr_g=1e-4, lr_d=1e-4,
                iters=60000, save_every=1000, workers=4)


class TextureFolder(Dataset):
    def __init__(self, root, size):
        self.paths = sorted(p for p in Path(root).rglob("*") if p.suffix.lower() in (".png", ".jpg"))
        self.size = size

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        img = Image.open(self.paths[i]).convert("RGB")
        if min(img.size) < self.size:
            img = img.resize((self.size, self.size))
        w, h = img.size
        left = int(torch.randint(0, w - self.size + 1, (1,)))
        top = int(torch.randint(0, h - self.size + 1, (1,)))
        img = img.crop((left, top, left + self.size, top + self.size))
        return torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 127.5 - 1


class Generator(nn.Module):
    def __init__(self, z_dim, ch):
        super().__init__()
        self.ch = ch
        self.fc = nn.Linear(z_dim, ch * 8 * 4 * 4)
        blocks, cin = [], ch * 8
        for cout in (ch * 4, ch * 2, ch, ch):
            blocks += [nn.Upsample(scale_factor=2), nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU()]
            cin = cout
        self.net = nn.Sequential(*blocks, nn.Conv2d(cin, 3, 3, padding=1), nn.Tanh())

    def forward(self, z):
        return self.net(self.fc(z).view(-1, self.ch * 8, 4, 4))


class Critic(nn.Module):
    def __init__(self, ch):
        super().__init__()
        layers, cin = [], 3
        for cout in (ch, ch * 2, ch * 4, ch * 8):
            layers += [nn.Conv2d(cin, cout, 4, 2, 1), nn.LeakyReLU(0.2)]
            cin = cout
        self.net = nn.Sequential(*layers)
        self.out = nn.Linear(cin * 4 * 4, 1)

    def forward(self, x):
        return self.out(self.net(x).flatten(1)).squeeze(1)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1, 1, 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).detach().requires_grad_(True)
    grad, = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return (grad.flatten(1).norm(2, dim=1) - 1).pow(2).mean()


def infinite(loader, device):
    while True:
        for x in loader:
            yield x.to(device, non_blocking=True)


def save_samples(gen, z, path):
    gen.eval()
    with torch.no_grad():
        img = ((gen(z) + 1) * 127.5).clamp(0, 255).byte().cpu()
    gen.train()
    n = int(len(img) ** 0.5)
    grid = torch.cat([torch.cat(list(img[r * n:(r + 1) * n]), 2) for r in range(n)], 1)
    Image.fromarray(grid.permute(1, 2, 0).numpy()).save(path)


@click.command()
@click.option("--data", required=True, type=click.Path(exists=True))
@click.option("--config", default=None, type=click.Path(exists=True))
@click.option("--out", default="wgan_out")
def main(data, config, out):
    cfg = dict(DEFAULTS)
    if config:
        cfg.update(yaml.safe_load(open(config)))
    os.makedirs(out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    ds = TextureFolder(data, cfg["size"])
    batches = infinite(DataLoader(ds, cfg["batch"], shuffle=True, drop_last=True, num_workers=cfg["workers"]), device)
    gen, critic = Generator(cfg["z_dim"], cfg["ch"]).to(device), Critic(cfg["ch"]).to(device)
    opt_g = torch.optim.Adam(gen.parameters(), lr=cfg["lr_g"], betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=cfg["lr_d"], betas=(0.0, 0.9))
    fixed_z = torch.randn(64, cfg["z_dim"], device=device)

    for it in range(1, cfg["iters"] + 1):
        opt_g.zero_grad()
        for _ in range(cfg["n_critic"]):
            real = next(batches)
            z = torch.randn(len(real), cfg["z_dim"], device=device)
            with torch.no_grad():
                fake = gen(z)
            opt_d.zero_grad()
            wdist = critic(real).mean() - critic(fake).mean()
            gp = gradient_penalty(critic, real, fake)
            loss_d = -wdist + cfg["gp"] * gp
            loss_d.backward()
            opt_d.step()

        fake = gen(torch.randn(cfg["batch"], cfg["z_dim"], device=device))
        loss_g = -critic(fake).mean()
        loss_g.backward()
        opt_g.step()

        if it % 50 == 0:
            print(f"{it:6d} W {wdist.item():.3f} gp {gp.item():.3f} G {loss_g.item():.3f}")
        if it % cfg["save_every"] == 0:
            save_samples(gen, fixed_z, os.path.join(out, f"{it:06d}.png"))
            torch.save({"g": gen.state_dict(), "d": critic.state_dict(), "opt_g": opt_g.state_dict(),
                        "opt_d": opt_d.state_dict(), "it": it, "cfg": cfg}, os.path.join(out, "last.pt"))


if __name__ == "__main__":
    main()
