"""DCGAN at 16x16 on procedurally generated discs."""
import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("dcgan")


def make_discs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx = torch.randint(5, size - 5, (n, 1, 1))
    cy = torch.randint(5, size - 5, (n, 1, 1))
    r = 2.0 + 2.5 * torch.rand(n, 1, 1)
    d = ((xx - cx) ** 2 + (yy - cy) ** 2).float().sqrt()
    return torch.tanh(2 * (r - d)).unsqueeze(1)


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz=16, ngf=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, 2 * ngf, 4, 1, 0, bias=False),
            nn.BatchNorm2d(2 * ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(2 * ngf, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, ndf=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 2 * ndf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(2 * ndf),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * ndf, 1, 4, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).view(-1)


def train(opt):
    torch.manual_seed(opt.seed)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(make_discs(opt.n)), batch_size=opt.batch_size, shuffle=True, drop_last=True)

    netG = Generator(opt.nz).to(device)
    netD = Discriminator().to(device)
    netG.apply(weights_init)
    netD.apply(weights_init)
    optG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
    optD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
    fixed_noise = torch.randn(64, opt.nz, 1, 1, device=device)

    for epoch in range(opt.epochs):
        sum_d = sum_g = 0.0
        for (real,) in loader:
            real = real.to(device)
            b = real.size(0)
            optD.zero_grad()
            optG.zero_grad()

            noise = torch.randn(b, opt.nz, 1, 1, device=device)
            fake = netG(noise)

            # D: maximise log D(x) + log(1 - D(G(z))), with one-sided smoothing
            out_real = netD(real)
            out_fake = netD(fake.detach())
            errD = F.binary_cross_entropy_with_logits(out_real, torch.full_like(out_real, 0.9))
            errD = errD + F.binary_cross_entropy_with_logits(out_fake, torch.zeros_like(out_fake))
            errD.backward()
            optD.step()

            # G: maximise log D(G(z))
            out = netD(fake)
            errG = F.binary_cross_entropy_with_logits(out, torch.ones_like(out))
            errG.backward()
            optG.step()

            sum_d += errD.item()
            sum_g += errG.item()
        n = len(loader)
        logger.info("[%d/%d] loss_D %.4f loss_G %.4f", epoch + 1, opt.epochs, sum_d / n, sum_g / n)

    netG.eval()
    with torch.no_grad():
        imgs = netG(fixed_noise)
    real_mean = make_discs(256).mean().item()
    logger.info("mean pixel: generated %.3f, data %.3f", imgs.mean().item(), real_mean)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    p = argparse.ArgumentParser()
    p.add_argument("--n", type=int, default=1024)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--nz", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--beta1", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=999)
    train(p.parse_args())
