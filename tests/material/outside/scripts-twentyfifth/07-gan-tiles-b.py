"""DCGAN on small procedural tiles (stripes / checkers). Everything runs on CPU."""
import argparse
import csv
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_tiles(n, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    angle = torch.rand(n, 1, 1, generator=g) * torch.pi
    freq = 3 + 3 * torch.rand(n, 1, 1, generator=g)
    phase = torch.rand(n, 1, 1, generator=g) * 2 * torch.pi
    u = xx * angle.cos() + yy * angle.sin()
    v = -xx * angle.sin() + yy * angle.cos()
    stripes = torch.sin(freq * u + phase)
    checks = stripes * torch.sin(freq * v)
    kind = (torch.rand(n, 1, 1, generator=g) < 0.5).float()
    return (0.9 * torch.tanh(2 * (kind * stripes + (1 - kind) * checks))).unsqueeze(1)


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
        nn.init.normal_(m.weight, 0.0, 0.05)
        if m.bias is not None:
            nn.init.zeros_(m.bias)


def build_generator(nz, ngf):
    return nn.Sequential(
        nn.Linear(nz, ngf * 2 * 16), nn.ReLU(), nn.Unflatten(1, (ngf * 2, 4, 4)),
        nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(),
        nn.ConvTranspose2d(ngf, 1, 4, 2, 1), nn.Tanh(),
    )


def build_discriminator(ndf):
    return nn.Sequential(
        nn.Conv2d(1, ndf, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(ndf, ndf * 2, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(ndf * 2 * 16, 1),
    )


def spectrum(x):
    """mean power spectrum, used as a cheap sample quality measure"""
    f = torch.fft.rfft2(x[:, 0]).abs().pow(2).mean(0)
    return f / f.sum()


def gan_losses():
    bce = F.binary_cross_entropy_with_logits

    def d_loss(real_logits, fake_logits):
        return bce(real_logits, torch.full_like(real_logits, 0.9)) + \
            bce(fake_logits, torch.zeros_like(fake_logits))

    def g_loss(fake_logits):
        return bce(fake_logits, torch.ones_like(fake_logits))

    return d_loss, g_loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--n", type=int, default=2048)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--nz", type=int, default=32)
    ap.add_argument("--lr-d", type=float, default=5e-4)
    ap.add_argument("--lr-g", type=float, default=5e-4)
    ap.add_argument("--out", default="runs/gan")
    opt = ap.parse_args()

    torch.manual_seed(0)
    os.makedirs(opt.out, exist_ok=True)
    data = make_tiles(opt.n)
    ref = spectrum(make_tiles(1024, seed=1))

    G, D = build_generator(opt.nz, 24), build_discriminator(24)
    G.apply(weights_init)
    D.apply(weights_init)
    opt_g = torch.optim.Adam(G.parameters(), lr=opt.lr_g, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=opt.lr_d, betas=(0.5, 0.999))
    d_criterion, g_criterion = gan_losses()
    fixed_z = torch.randn(256, opt.nz)

    log = open(os.path.join(opt.out, "log.csv"), "w", newline="")
    writer = csv.writer(log)
    writer.writerow(["epoch", "d_loss", "g_loss", "d_real", "d_fake", "spec_l1"])

    for epoch in range(opt.epochs):
        G.train()
        stats = torch.zeros(4)
        order = torch.randperm(len(data))
        n_iter = len(data) // opt.batch
        for it in range(n_iter):
            real = data[order[it * opt.batch:(it + 1) * opt.batch]]
            opt_d.zero_grad(set_to_none=True)
            opt_g.zero_grad(set_to_none=True)

            # discriminator
            fake = G(torch.randn(opt.batch, opt.nz))
            real_logits = D(real)
            fake_logits = D(fake)
            loss_d = d_criterion(real_logits, fake_logits)
            loss_d.backward()
            opt_d.step()

            # generator
            gen = G(torch.randn(opt.batch, opt.nz))
            loss_g = g_criterion(D(gen))
            loss_g.backward()
            opt_g.step()

            stats += torch.stack([loss_d.detach(), loss_g.detach(),
                                  real_logits.detach().sigmoid().mean(),
                                  fake_logits.detach().sigmoid().mean()])
        stats /= n_iter
        with torch.no_grad():
            G.eval()
            samples = G(fixed_z)
            dist = (spectrum(samples) - ref).abs().sum().item()
        writer.writerow([epoch] + [f"{v:.4f}" for v in stats.tolist()] + [f"{dist:.4f}"])
        print(f"[{epoch:2d}] D {stats[0]:.3f} G {stats[1]:.3f} D(x) {stats[2]:.2f} D(G(z)) {stats[3]:.2f} "
              f"spectrum {dist:.3f}")
    log.close()
    torch.save({"G": G.state_dict(), "D": D.state_dict(), "samples": samples}, os.path.join(opt.out, "last.pt"))


if __name__ == "__main__":
    main()
