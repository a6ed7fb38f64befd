# GAN on a 2-D ring; generator is updated first, as in the PyTorch-GAN style scripts
import argparse
import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--n_epochs", type=int, default=6)
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--b1", type=float, default=0.5)
parser.add_argument("--latent_dim", type=int, default=8)
opt = parser.parse_args()
print(opt)
torch.manual_seed(3)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()

        def block(i, o, normalize=True):
            layers = [nn.Linear(i, o)]
            if normalize:
                layers.append(nn.BatchNorm1d(o))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(*block(opt.latent_dim, 32, False), *block(32, 64), nn.Linear(64, 2))

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2, inplace=True),
                                   nn.Linear(64, 32), nn.LeakyReLU(0.2, inplace=True),
                                   nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x):
        return self.model(x)


adversarial_loss = nn.BCELoss()
generator, discriminator = Generator(), Discriminator()
points = torch.from_numpy(np.load("data/ring.npy"))
dataloader = torch.utils.data.DataLoader(points, batch_size=opt.batch_size, shuffle=True, drop_last=True)
optimizer_G = torch.optim.Adam(generator.parameters(), lr=opt.lr, betas=(opt.b1, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=opt.lr, betas=(opt.b1, 0.999))

for epoch in range(opt.n_epochs):
    for i, real in enumerate(dataloader):
        valid = torch.ones(real.size(0), 1)
        fake = torch.zeros(real.size(0), 1)

        # -----------------
        #  Train Generator
        # -----------------
        optimizer_G.zero_grad()
        z = torch.randn(real.size(0), opt.latent_dim)
        gen = generator(z)
        g_loss = adversarial_loss(discriminator(gen), valid)
        g_loss.backward()
        optimizer_G.step()

        # ---------------------
        #  Train Discriminator
        # ---------------------
        optimizer_D.zero_grad()
        real_loss = adversarial_loss(discriminator(real), valid)
        fake_loss = adversarial_loss(discriminator(gen.detach()), fake)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()
        optimizer_D.step()

    with torch.no_grad():
        generator.eval()
        r = generator(torch.randn(500, opt.latent_dim)).norm(dim=1)
        generator.train()
    print(f"[Epoch {epoch}/{opt.n_epochs}] [D {d_loss.item():.3f}] [G {g_loss.item():.3f}] radius {r.mean():.2f}+-{r.std():.2f}")
