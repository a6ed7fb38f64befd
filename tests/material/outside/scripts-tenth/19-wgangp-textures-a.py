"""WGAN-GP for texture patches cut from a folder of photos."""
import argparse
import glob
import os
import random

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, folder, size, per_epoch):
        paths = sorted(glob.glob(os.path.join(folder, "**", "*.*"), recursive=True))
        self.photos = [np.asarray(Image.open(p).convert("RGB")) for p in paths if p.lower().endswith((".png", ".jpg"))]
        self.size, self.per_epoch = size, per_epoch

    def __len__(self):
        return self.per_epoch

    def __getitem__(self, _):
        im = random.choice(self.photos)
        y = random.randint(0, im.shape[0] - self.size)
        x = random.randint(0, im.shape[1] - self.size)
        patch = im[y:y + self.size, x:x + self.size]
        return torch.from_numpy(patch.copy()).permute(2, 0, 1).float() / 127.5 - 1


class Generator(nn.Module):
    def __init__(self, nz, ch):
        super().__init__()
        self.fc = nn.Linear(nz, ch * 4 * 4 * 4)
        self.ch = ch

        def up(i, o):
            return [nn.Upsample(scale_factor=2), nn.Conv2d(i, o, 3, 1, 1), nn.BatchNorm2d(o), nn.ReLU()]

        self.net = nn.Sequential(*up(4 * ch, 4 * ch), *up(4 * ch, 2 * ch), *up(2 * ch, ch),
                                 nn.Conv2d(ch, 3, 3, 1, 1), nn.Tanh())

    def forward(self, z):
        return self.net(self.fc(z).view(len(z), 4 * self.ch, 4, 4))


def make_critic(ch):
    def down(i, o):
        return [nn.Conv2d(i, o, 4, 2, 1), nn.LeakyReLU(0.2)]

    return nn.Sequential(*down(3, ch), *down(ch, 2 * ch), *down(2 * ch, 4 * ch), nn.Flatten(),
                         nn.Linear(4 * ch * 16, 1), nn.Flatten(0))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1, 1, 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad = torch.autograd.grad(score, mix, torch.ones_like(score), create_graph=True)[0]
    norm = grad.flatten(1).norm(2, dim=1)
    return ((norm - 1) ** 2).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--photos", default="photos")
    p.add_argument("--iters", type=int, default=50000)
    p.add_argument("--critic-iters", type=int, default=5)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--nz", type=int, default=128)
    p.add_argument("--ch", type=int, default=64)
    p.add_argument("--gp", type=float, default=10.0)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--workers", type=int, default=4)
    args = p.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Patches(args.photos, 32, 64 * args.batch), args.batch, drop_last=True,
                        num_workers=args.workers)

    def stream():
        while True:
            yield from loader

    batches = stream()
    gen, critic = Generator(args.nz, args.ch).to(device), make_critic(args.ch).to(device)
    opt_g = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))

    for it in range(1, args.iters + 1):
        for _ in range(args.critic_iters):
            real = next(batches).to(device)
            with torch.no_grad():
                fake = gen(torch.randn(len(real), args.nz, device=device))
            gp = gradient_penalty(critic, real, fake)
            wdist = critic(real).mean() - critic(fake).mean()
            loss_c = -wdist + args.gp * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()

        critic.requires_grad_(False)
        loss_g = -critic(gen(torch.randn(args.batch, args.nz, device=device))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        critic.requires_grad_(True)

        if it % args.log_every == 0:
            print(f"{it:6d} W {wdist.item():.4f} gp {gp.item():.4f} G {loss_g.item():.4f}", flush=True)
            torch.save({"gen": gen.state_dict(), "critic": critic.state_dict()}, "wgan.pt")


if __name__ == "__main__":
    main()
