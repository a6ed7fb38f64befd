"""DCGAN on MNIST. usage: python dcgan.py --epochs 20"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.utils import save_image

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=20)
parser.add_argument('--nz', type=int, default=100)
parser.add_argument('--ngf', type=int, default=64)
parser.add_argument('--ndf', type=int, default=64)
parser.add_argument('--bs', type=int, default=128)
parser.add_argument('--lr', type=float, default=2e-4)
args = parser.parse_args()

device = 'cuda' if torch.cuda.is_available() else 'cpu'

tf = transforms.Compose([transforms.Resize(32), transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
ds = datasets.MNIST('./data', train=True, download=True, transform=tf)
dl = DataLoader(ds, batch_size=args.bs, shuffle=True, num_workers=2, drop_last=True)


class G(nn.Module):
    def __init__(self):
        super().__init__()
        n = args.ngf
        self.main = nn.Sequential(
            nn.ConvTranspose2d(args.nz, n * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(n * 4), nn.ReLU(True),
            nn.ConvTranspose2d(n * 4, n * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(n * 2), nn.ReLU(True),
            nn.ConvTranspose2d(n * 2, n, 4, 2, 1, bias=False), nn.BatchNorm2d(n), nn.ReLU(True),
            nn.ConvTranspose2d(n, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        n = args.ndf
        self.main = nn.Sequential(
            nn.Conv2d(1, n, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
            nn.Conv2d(n, n * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(n * 2), nn.LeakyReLU(0.2, True),
            nn.Conv2d(n * 2, n * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(n * 4), nn.LeakyReLU(0.2, True),
            nn.Conv2d(n * 4, 1, 4, 1, 0, bias=False))

    def forward(self, x):
        return self.main(x).view(-1)


netG, netD = G().to(device), D().to(device)
optG = torch.optim.Adam(netG.parameters(), lr=args.lr, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=args.lr, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
fixed = torch.randn(64, args.nz, 1, 1, device=device)

for epoch in range(args.epochs):
    for i, (real, _) in enumerate(dl):
        real = real.to(device)
        b = real.size(0)
        ones, zeros = torch.ones(b, device=device), torch.zeros(b, device=device)

        # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        lossD_real = bce(netD(real), ones)
        lossD_real.backward()
        noise = torch.randn(b, args.nz, 1, 1, device=device)
        fake = netG(noise)
        lossD_fake = bce(netD(fake), zeros)
        lossD_fake.backward(retain_graph=True)
        optD.step()

        # (2) update G: maximize log(D(G(z)))
        lossG = bce(netD(fake), ones)
        lossG.backward()
        optG.step()

        if i % 100 == 0:
            print(f'[{epoch}/{args.epochs}][{i}/{len(dl)}] D: {(lossD_real + lossD_fake).item():.3f} G: {lossG.item():.3f}')
    with torch.no_grad():
        save_image(netG(fixed), f'fake_{epoch:03d}.png', normalize=True)
