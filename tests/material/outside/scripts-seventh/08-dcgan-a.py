# DCGAN on procedurally drawn 32x32 blobs.
# usage: python dcgan.py [--epochs 20] [--batch 64]
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--steps", type=int, default=150, help="steps per epoch")
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--nz", type=int, default=64)
parser.add_argument("--ngf", type=int, default=32)
parser.add_argument("--ndf", type=int, default=32)
parser.add_argument("--lr", type=float, default=2e-4)
parser.add_argument("--beta1", type=float, default=0.5)
parser.add_argument("--seed", type=int, default=999)
opt = parser.parse_args()

torch.manual_seed(opt.seed)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def real_batch(n):
    """gaussian blobs of random place, width and height, in [-1, 1]"""
    grid = torch.linspace(-1, 1, 32, device=device)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    c = torch.rand(n, 2, 1, 1, device=device) * 1.2 - 0.6
    w = 0.1 + 0.3 * torch.rand(n, 2, 1, 1, device=device)
    img = torch.exp(-((xx - c[:, 0]) / w[:, 0]) ** 2 - ((yy - c[:, 1]) / w[:, 1]) ** 2)
    return img.unsqueeze(1) * 2 - 1


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz, ngf):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z[:, :, None, None])


class Discriminator(nn.Module):
    def __init__(self, ndf):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 4), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 4, 1, 4, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).view(-1)


netG = Generator(opt.nz, opt.ngf).to(device)
netD = Discriminator(opt.ndf).to(device)
netG.apply(weights_init)
netD.apply(weights_init)
optimizerG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
optimizerD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
fixed_noise = torch.randn(16, opt.nz, device=device)


def bce(logits, target):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


for epoch in range(opt.epochs):
    for i in range(opt.steps):
        real = real_batch(opt.batch)
        noise = torch.randn(opt.batch, opt.nz, device=device)
        fake = netG(noise)

        # (1) generator: maximize log(D(G(z)))
        optimizerG.zero_grad()
        lossG = bce(netD(fake), 1.0)
        lossG.backward()
        optimizerG.step()

        # (2) discriminator: maximize log(D(x)) + log(1 - D(G(z))), same fakes
        optimizerD.zero_grad()
        out_real = netD(real)
        out_fake = netD(fake.detach())
        lossD = bce(out_real, 0.9) + bce(out_fake, 0.0)
        lossD.backward()
        optimizerD.step()

        if i % 50 == 0:
            print("[%d/%d][%d/%d] Loss_D %.4f Loss_G %.4f D(x) %.3f D(G(z)) %.3f" % (
                epoch, opt.epochs, i, opt.steps, lossD.item(), lossG.item(),
                out_real.sigmoid().mean().item(), out_fake.sigmoid().mean().item()))

    netG.eval()
    with torch.no_grad():
        sample = netG(fixed_noise)
    netG.train()
    torch.save({"G": netG.state_dict(), "D": netD.state_dict(), "sample": sample.cpu()}, "dcgan_last.pt")
