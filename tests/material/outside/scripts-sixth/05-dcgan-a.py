# DCGAN on 32x32 images, generator first, then discriminator, one update each per batch.
import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms, utils

parser = argparse.ArgumentParser()
parser.add_argument("--root", default="images", help="folder with class sub-folders")
parser.add_argument("--fake-data", action="store_true", help="use torchvision FakeData")
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--z", type=int, default=64)
parser.add_argument("--lr", type=float, default=2e-4)
parser.add_argument("--out", default="samples")
opt = parser.parse_args()

torch.manual_seed(999)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tf = transforms.Compose(
    [transforms.Resize(32), transforms.CenterCrop(32), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)]
)
if opt.fake_data or not os.path.isdir(opt.root):
    dataset = datasets.FakeData(512, (3, 32, 32), 10, tf)
else:
    dataset = datasets.ImageFolder(opt.root, tf)
loader = DataLoader(dataset, batch_size=opt.batch, shuffle=True, drop_last=True)


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, z, ngf=32):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(z, ngf * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 3, 4, 2, 1, bias=False), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z[:, :, None, None])


class Discriminator(nn.Module):
    def __init__(self, ndf=32):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 4), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ndf * 4, 1, 4, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).flatten()


G = Generator(opt.z).to(device).apply(weights_init)
D = Discriminator().to(device).apply(weights_init)
opt_g = torch.optim.Adam(G.parameters(), lr=opt.lr, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=opt.lr, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
fixed = torch.randn(64, opt.z, device=device)
os.makedirs(opt.out, exist_ok=True)

for epoch in range(opt.epochs):
    for i, (real, _) in enumerate(loader):
        real = real.to(device)
        n = real.size(0)
        ones, zeros = torch.ones(n, device=device), torch.zeros(n, device=device)

        # generator
        opt_g.zero_grad()
        fake = G(torch.randn(n, opt.z, device=device))
        loss_g = bce(D(fake), ones)
        loss_g.backward()
        opt_g.step()

        # discriminator
        opt_d.zero_grad()
        loss_d = 0.5 * (bce(D(real), ones) + bce(D(fake.detach()), zeros))
        loss_d.backward()
        opt_d.step()

        if i % 50 == 0:
            print(f"[{epoch}/{opt.epochs}][{i}/{len(loader)}] D {loss_d.item():.3f} G {loss_g.item():.3f}")

    G.eval()
    with torch.no_grad():
        utils.save_image(G(fixed), os.path.join(opt.out, f"{epoch:03d}.png"), normalize=True)
    G.train()
    torch.save({"G": G.state_dict(), "D": D.state_dict()}, os.path.join(opt.out, "last.pt"))
