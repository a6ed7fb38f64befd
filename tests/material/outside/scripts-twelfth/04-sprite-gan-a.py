import argparse

import numpy as np
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="data/sprites.npz")
parser.add_argument("--epochs", type=int, default=100)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--nz", type=int, default=32)
parser.add_argument("--lr", type=float, default=2e-4)
parser.add_argument("--save-every", type=int, default=10)
args = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(999)

imgs = torch.from_numpy(np.load(args.data)["images"]).float().unsqueeze(1) / 127.5 - 1
loader = DataLoader(TensorDataset(imgs), batch_size=args.batch, shuffle=True, drop_last=True)


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(
    nn.ConvTranspose2d(args.nz, 64, 4, 1, 0, bias=False),
    nn.BatchNorm2d(64),
    nn.ReLU(True),
    nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(True),
    nn.ConvTranspose2d(32, 1, 4, 2, 1),
    nn.Tanh(),
).to(device)

netD = nn.Sequential(
    nn.Conv2d(1, 32, 4, 2, 1),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(32, 64, 4, 2, 1, bias=False),
    nn.BatchNorm2d(64),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(64, 1, 4, 1, 0),
    nn.Flatten(0),
).to(device)

netG.apply(weights_init)
netD.apply(weights_init)
optG = torch.optim.Adam(netG.parameters(), lr=args.lr, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=args.lr, betas=(0.5, 0.999))
fixed = torch.randn(16, args.nz, 1, 1, device=device)

for epoch in range(args.epochs):
    for (real,) in loader:
        real = real.to(device)
        b = real.size(0)
        ones, zeros = torch.ones(b, device=device), torch.zeros(b, device=device)
        fake = netG(torch.randn(b, args.nz, 1, 1, device=device))

        optD.zero_grad()
        lossD_real = bce(netD(real), ones * 0.9)
        lossD_real.backward()
        lossD_fake = bce(netD(fake.detach()), zeros)
        lossD_fake.backward()
        optD.step()

        optG.zero_grad()
        lossG = bce(netD(fake), ones)
        lossG.backward()
        optG.step()

    print(f"[{epoch}] D {(lossD_real + lossD_fake).item():.3f} G {lossG.item():.3f}")
    if (epoch + 1) % args.save_every == 0:
        netG.eval()
        with torch.no_grad():
            np.save(f"sprites_{epoch + 1:04d}.npy", netG(fixed).cpu().numpy())
        netG.train()
        torch.save({"G": netG.state_dict(), "D": netD.state_dict()}, "sprite_gan.pt")
