"""pix2pix (edges -> photo). Data: a folder of side-by-side images, A|B."""
import argparse
import glob
import os

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class SideBySide(Dataset):
    def __init__(self, folder, size):
        self.files = sorted(glob.glob(os.path.join(folder, "*.jpg")) + glob.glob(os.path.join(folder, "*.png")))
        self.size = size

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        im = Image.open(self.files[i]).convert("RGB").resize((2 * self.size, self.size), Image.BICUBIC)
        t = torch.from_numpy(np.array(im)).permute(2, 0, 1).float() / 127.5 - 1
        a, b = t[:, :, :self.size], t[:, :, self.size:]
        if torch.rand(()) < 0.5:
            a, b = a.flip(-1), b.flip(-1)
        return a, b


def down(i, o, norm=True):
    m = [nn.Conv2d(i, o, 4, 2, 1, bias=not norm)]
    if norm:
        m.append(nn.InstanceNorm2d(o, affine=True))
    m.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*m)


def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.InstanceNorm2d(o, affine=True), nn.ReLU())


class Generator(nn.Module):
    def __init__(self, c=64):
        super().__init__()
        self.d1, self.d2 = down(3, c, False), down(c, 2 * c)
        self.d3, self.d4 = down(2 * c, 4 * c), down(4 * c, 4 * c)
        self.u1, self.u2, self.u3 = up(4 * c, 4 * c), up(8 * c, 2 * c), up(4 * c, c)
        self.out = nn.Sequential(nn.ConvTranspose2d(2 * c, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(a)
        c = self.d3(b)
        d = self.d4(c)
        u = torch.cat([self.u1(d), c], 1)
        u = torch.cat([self.u2(u), b], 1)
        u = torch.cat([self.u3(u), a], 1)
        return self.out(u)


class PatchD(nn.Module):
    def __init__(self, c=64):
        super().__init__()
        self.net = nn.Sequential(down(6, c, False), down(c, 2 * c), down(2 * c, 4 * c), nn.Conv2d(4 * c, 1, 3, padding=1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1))


def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)


class Pix2Pix:
    def __init__(self, opt, device):
        self.opt, self.device = opt, device
        self.G = Generator(opt.ngf).apply(init_weights).to(device)
        self.D = PatchD(opt.ndf).apply(init_weights).to(device)
        self.optimizer_G = torch.optim.Adam(self.G.parameters(), lr=opt.lr, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.D.parameters(), lr=opt.lr, betas=(0.5, 0.999))
        self.gan_loss = nn.BCEWithLogitsLoss()
        self.l1 = nn.L1Loss()

    def set_input(self, batch):
        self.real_A, self.real_B = (t.to(self.device) for t in batch)

    def _gan(self, pred, real):
        return self.gan_loss(pred, torch.full_like(pred, float(real)))

    def backward_D(self):
        self.loss_D_fake = self._gan(self.D(self.real_A, self.fake_B.detach()), False)
        self.loss_D_real = self._gan(self.D(self.real_A, self.real_B), True)
        self.loss_D = 0.5 * (self.loss_D_fake + self.loss_D_real)
        self.loss_D.backward()

    def backward_G(self):
        self.loss_G_gan = self._gan(self.D(self.real_A, self.fake_B), True)
        self.loss_G_l1 = self.l1(self.fake_B, self.real_B) * self.opt.lambda_l1
        self.loss_G = self.loss_G_gan + self.loss_G_l1
        self.loss_G.backward()

    def optimize_parameters(self):
        self.fake_B = self.G(self.real_A)
        # D
        self.backward_D()
        self.optimizer_D.step()
        # G
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()

    def losses(self):
        return {k: round(getattr(self, "loss_" + k).item(), 4) for k in ("D", "G_gan", "G_l1")}

    def save(self, path, epoch):
        torch.save({"G": self.G.state_dict(), "D": self.D.state_dict(), "epoch": epoch}, path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dataroot")
    p.add_argument("--size", type=int, default=256)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--epochs-decay", type=int, default=100)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--lambda-l1", type=float, default=100.0)
    p.add_argument("--ngf", type=int, default=64)
    p.add_argument("--ndf", type=int, default=64)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--ckpt", default="pix2pix.pt")
    opt = p.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(SideBySide(opt.dataroot, opt.size), opt.batch, shuffle=True, num_workers=opt.workers)
    model = Pix2Pix(opt, device)
    rule = lambda e: 1.0 - max(0, e + 1 - opt.epochs) / float(opt.epochs_decay + 1)
    scheds = [torch.optim.lr_scheduler.LambdaLR(o, rule) for o in (model.optimizer_G, model.optimizer_D)]

    for epoch in range(opt.epochs + opt.epochs_decay):
        for i, batch in enumerate(loader):
            model.set_input(batch)
            model.optimize_parameters()
            if i % 100 == 0:
                print(f"(epoch {epoch}, {i}/{len(loader)})", model.losses())
        for s in scheds:
            s.step()
        model.save(opt.ckpt, epoch)


if __name__ == "__main__":
    main()
