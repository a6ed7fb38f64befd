import argparse
import random
from pathlib import Path

import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms, utils
from tqdm import tqdm


class FlatFolder(Dataset):
    def __init__(self, root, size):
        self.files = sorted(p for p in Path(root).rglob("*") if p.suffix.lower() in {".jpg", ".jpeg", ".png"})
        if not self.files:
            raise FileNotFoundError(f"no images under {root}")
        self.tf = transforms.Compose([transforms.Resize(size), transforms.CenterCrop(size),
                                      transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                      transforms.Normalize([0.5] * 3, [0.5] * 3)])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.tf(Image.open(self.files[i]).convert("RGB"))


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def generator(nz, ngf):
    def up(i, o, k=4, s=2, p=1):
        return [nn.ConvTranspose2d(i, o, k, s, p, bias=False), nn.BatchNorm2d(o), nn.ReLU(True)]
    return nn.Sequential(*up(nz, ngf * 8, 4, 1, 0), *up(ngf * 8, ngf * 4), *up(ngf * 4, ngf * 2), *up(ngf * 2, ngf),
                         nn.ConvTranspose2d(ngf, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(ndf):
    def down(i, o):
        return [nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(nn.Conv2d(3, ndf, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), *down(ndf, ndf * 2),
                         *down(ndf * 2, ndf * 4), *down(ndf * 4, ndf * 8), nn.Conv2d(ndf * 8, 1, 4, 1, 0), nn.Flatten(0))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--images", required=True)
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--nz", type=int, default=100)
    p.add_argument("--ngf", type=int, default=64)
    p.add_argument("--ndf", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--beta1", type=float, default=0.5)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", type=Path, default=Path("dcgan"))
    p.add_argument("--seed", type=int, default=999)
    opt = p.parse_args()
    random.seed(opt.seed)
    torch.manual_seed(opt.seed)
    opt.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

    loader = DataLoader(FlatFolder(opt.images, 64), opt.batch_size, shuffle=True, num_workers=opt.workers,
                        drop_last=True)
    net_g = generator(opt.nz, opt.ngf).to(device).apply(weights_init)
    net_d = discriminator(opt.ndf).to(device).apply(weights_init)
    bce = nn.BCEWithLogitsLoss()
    opt_g = torch.optim.Adam(net_g.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
    opt_d = torch.optim.Adam(net_d.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
    fixed = torch.randn(64, opt.nz, 1, 1, device=device)

    for epoch in range(opt.epochs):
        net_g.train()
        bar = tqdm(loader, desc=f"epoch {epoch}", mininterval=5)
        for real in bar:
            real = real.to(device)
            n = real.size(0)
            ones, zeros = torch.ones(n, device=device), torch.zeros(n, device=device)

            # generator
            opt_g.zero_grad()
            fake = net_g(torch.randn(n, opt.nz, 1, 1, device=device))
            loss_g = bce(net_d(fake), ones)
            loss_g.backward()
            opt_g.step()

            # discriminator
            opt_d.zero_grad()
            loss_d = bce(net_d(real), ones) + bce(net_d(fake.detach()), zeros)
            loss_d.backward()
            opt_d.step()
            bar.set_postfix(g=f"{loss_g.item():.3f}", d=f"{loss_d.item():.3f}")
        net_g.eval()
        with torch.no_grad():
            utils.save_image(net_g(fixed), opt.out / f"fake_{epoch:03d}.png", normalize=True)
        torch.save({"g": net_g.state_dict(), "d": net_d.state_dict(), "opt_g": opt_g.state_dict(),
                    "opt_d": opt_d.state_dict(), "epoch": epoch}, opt.out / "last.pt")


if __name__ == "__main__":
    main()
