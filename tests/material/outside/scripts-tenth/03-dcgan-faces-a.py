"""DCGAN for 64x64 faces. All images below faces/ are used."""
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

try:
    import wandb
except ImportError:
    wandb = None


@dataclass
class Config:
    root: str = "faces"
    size: int = 64
    nz: int = 100
    ngf: int = 64
    ndf: int = 64
    batch: int = 128
    epochs: int = 50
    lr: float = 2e-4
    beta1: float = 0.5
    workers: int = 4
    seed: int = 999
    out: str = "samples"


class Faces(Dataset):
    def __init__(self, root, size):
        self.files = sorted(p for p in Path(root).rglob("*") if p.suffix.lower() in {".png", ".jpg", ".jpeg"})
        self.size = size

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        im = Image.open(self.files[idx]).convert("RGB").resize((self.size, self.size), Image.BILINEAR)
        t = torch.from_numpy(np.array(im)).permute(2, 0, 1).float() / 127.5 - 1
        return t.flip(-1) if random.random() < 0.5 else t


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def make_generator(c):
    f = c.ngf
    layers = [nn.ConvTranspose2d(c.nz, f * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(f * 8), nn.ReLU(True)]
    for i, o in ((8, 4), (4, 2), (2, 1)):
        layers += [nn.ConvTranspose2d(f * i, f * o, 4, 2, 1, bias=False), nn.BatchNorm2d(f * o), nn.ReLU(True)]
    layers += [nn.ConvTranspose2d(f, 3, 4, 2, 1, bias=False), nn.Tanh()]
    return nn.Sequential(*layers)


def make_discriminator(c):
    f = c.ndf
    layers = [nn.Conv2d(3, f, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
    for i, o in ((1, 2), (2, 4), (4, 8)):
        layers += [nn.Conv2d(f * i, f * o, 4, 2, 1, bias=False), nn.BatchNorm2d(f * o), nn.LeakyReLU(0.2, True)]
    layers += [nn.Conv2d(f * 8, 1, 4, 1, 0, bias=False), nn.Flatten(0)]
    return nn.Sequential(*layers)


def save_grid(images, path, cols=8):
    x = ((images.clamp(-1, 1) + 1) * 127.5).byte().cpu()
    rows = [torch.cat(list(x[i:i + cols]), dim=2) for i in range(0, len(x) - cols + 1, cols)]
    Image.fromarray(torch.cat(rows, dim=1).permute(1, 2, 0).numpy()).save(path)


def train(c: Config):
    random.seed(c.seed)
    torch.manual_seed(c.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    Path(c.out).mkdir(parents=True, exist_ok=True)
    loader = DataLoader(Faces(c.root, c.size), c.batch, shuffle=True, num_workers=c.workers, drop_last=True)

    net_g = make_generator(c).to(device).apply(weights_init)
    net_d = make_discriminator(c).to(device).apply(weights_init)
    optim_g = torch.optim.Adam(net_g.parameters(), lr=c.lr, betas=(c.beta1, 0.999))
    optim_d = torch.optim.Adam(net_d.parameters(), lr=c.lr, betas=(c.beta1, 0.999))
    bce = nn.BCEWithLogitsLoss()
    fixed = torch.randn(64, c.nz, 1, 1, device=device)
    if wandb is not None:
        wandb.init(project="dcgan-faces", config=vars(c))

    for epoch in range(c.epochs):
        for it, real in enumerate(loader):
            real = real.to(device)
            n = real.size(0)
            ones = torch.ones(n, device=device)
            zeros = torch.zeros(n, device=device)

            optim_d.zero_grad()
            optim_g.zero_grad()

            fake = net_g(torch.randn(n, c.nz, 1, 1, device=device))

            loss_real = bce(net_d(real), ones)
            loss_fake = bce(net_d(fake), zeros)
            loss_d = loss_real + loss_fake
            loss_d.backward(retain_graph=True)
            optim_d.step()

            loss_g = bce(net_d(fake), ones)
            loss_g.backward()
            optim_g.step()

            if it % 50 == 0:
                print(f"[{epoch}/{c.epochs}][{it}/{len(loader)}] D {loss_d.item():.4f} G {loss_g.item():.4f}")
                if wandb is not None:
                    wandb.log({"loss_d": loss_d.item(), "loss_g": loss_g.item()})

        net_g.eval()
        with torch.no_grad():
            save_grid(net_g(fixed), f"{c.out}/epoch_{epoch:03d}.png")
        net_g.train()
        torch.save({"g": net_g.state_dict(), "d": net_d.state_dict()}, f"{c.out}/last.pt")


if __name__ == "__main__":
    train(Config())
