"""DCGAN on 64x64 faces, after Radford et al. 2015."""
import argparse
import os

import torch
import torch.nn as nn
import torchvision.utils as vutils
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument("--dataroot", required=True)
parser.add_argument("--outdir", default="out_dcgan")
parser.add_argument("--nz", type=int, default=100)
parser.add_argument("--ngf", type=int, default=64)
parser.add_argument("--ndf", type=int, default=64)
parser.add_argument("--epochs", type=int, default=25)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--lr", type=float, default=2e-4)
opt = parser.parse_args()

os.makedirs(opt.outdir, exist_ok=True)
torch.manual_seed(999)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

dataset = datasets.ImageFolder(opt.dataroot, transform=transforms.Compose([
    transforms.Resize(64),
    transforms.CenterCrop(64),
    transforms.ToTensor(),
    transforms.Normalize((0.5,) * 3, (0.5,) * 3),
]))
loader = DataLoader(dataset, batch_size=opt.batch, shuffle=True, num_workers=2, drop_last=True)


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def up(cin, cout, s=2, p=1):
    return [nn.ConvTranspose2d(cin, cout, 4, s, p, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True)]


def down(cin, cout):
    return [nn.Conv2d(cin, cout, 4, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.LeakyReLU(0.2, inplace=True)]


netG = nn.Sequential(
    *up(opt.nz, opt.ngf * 8, 1, 0),
    *up(opt.ngf * 8, opt.ngf * 4),
    *up(opt.ngf * 4, opt.ngf * 2),
    *up(opt.ngf * 2, opt.ngf),
    nn.ConvTranspose2d(opt.ngf, 3, 4, 2, 1, bias=False),
    nn.Tanh(),
).to(device)
netD = nn.Sequential(
    nn.Conv2d(3, opt.ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    *down(opt.ndf, opt.ndf * 2),
    *down(opt.ndf * 2, opt.ndf * 4),
    *down(opt.ndf * 4, opt.ndf * 8),
    nn.Conv2d(opt.ndf * 8, 1, 4, 1, 0, bias=False),
    nn.Flatten(0),
).to(device)
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCEWithLogitsLoss()
optD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(0.5, 0.999))
fixed_noise = torch.randn(64, opt.nz, 1, 1, device=device)

for epoch in range(opt.epochs):
    for i, (real, _) in enumerate(loader):
        real = real.to(device)
        b = real.size(0)
        ones = torch.ones(b, device=device)
        zeros = torch.zeros(b, device=device)

        # (1) discriminator: maximise log D(x) + log(1 - D(G(z)))
        out_real = netD(real)
        fake = netG(torch.randn(b, opt.nz, 1, 1, device=device))
        out_fake = netD(fake.detach())
        lossD = criterion(out_real, ones) + criterion(out_fake, zeros)
        lossD.backward()
        optD.step()

        # (2) generator: maximise log D(G(z))
        netG.zero_grad()
        lossG = criterion(netD(fake), ones)
        lossG.backward()
        optG.step()

        if i % 50 == 0:
            print("[%d/%d][%d/%d] Loss_D %.4f Loss_G %.4f D(x) %.3f D(G(z)) %.3f" % (
                epoch, opt.epochs, i, len(loader), lossD.item(), lossG.item(),
                out_real.sigmoid().mean().item(), out_fake.sigmoid().mean().item()))

    netG.eval()
    with torch.no_grad():
        grid = netG(fixed_noise)
    netG.train()
    vutils.save_image(grid, os.path.join(opt.outdir, f"fake_{epoch:03d}.png"), normalize=True)
    torch.save({"G": netG.state_dict(), "D": netD.state_dict()}, os.path.join(opt.outdir, "last.pth"))
