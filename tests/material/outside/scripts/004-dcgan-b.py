import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

manual_seed = 999
random.seed(manual_seed)
torch.manual_seed(manual_seed)

nz, ngf, ndf, nc = 16, 16, 16, 1
image_size = 16
num_epochs = 3
batch_size = 32
lr = 2e-4
beta1 = 0.5
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def make_blobs(count):
    """Soft discs at random places, in [-1, 1]."""
    grid = torch.linspace(-1, 1, image_size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    cx, cy = torch.rand(2, count, 1, 1) - 0.5
    r = 0.2 + 0.3 * torch.rand(count, 1, 1)
    img = torch.sigmoid(20 * (r - ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt()))
    return (img * 2 - 1).unsqueeze(1)


loader = DataLoader(TensorDataset(make_blobs(512)), batch_size=batch_size, shuffle=True, drop_last=True)


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
    nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh(),
).to(device)
netD = nn.Sequential(
    nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False), nn.Flatten(0),
).to(device)
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCEWithLogitsLoss()
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr, betas=(beta1, 0.999))
fixed_noise = torch.randn(16, nz, 1, 1, device=device)

for epoch in range(num_epochs):
    for i, (real,) in enumerate(loader):
        real = real.to(device)
        b = real.size(0)
        ones = torch.ones(b, device=device)
        zeros = torch.zeros(b, device=device)

        # (1) D: maximize log(D(x)) + log(1 - D(G(z)))
        out_real = netD(real)
        errD_real = criterion(out_real, ones)
        errD_real.backward()
        noise = torch.randn(b, nz, 1, 1, device=device)
        fake = netG(noise)
        errD_fake = criterion(netD(fake.detach()), zeros)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        # (2) G: maximize log(D(G(z)))
        optimizerG.zero_grad()
        errG = criterion(netD(fake), ones)
        errG.backward()
        optimizerG.step()

        if i % 8 == 0:
            print(f"[{epoch}/{num_epochs}][{i}/{len(loader)}] "
                  f"Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f} D(x): {out_real.sigmoid().mean().item():.4f}")

    with torch.no_grad():
        sample = netG(fixed_noise).cpu()
    torch.save(sample, f"fake_samples_epoch_{epoch:03d}.pt")
