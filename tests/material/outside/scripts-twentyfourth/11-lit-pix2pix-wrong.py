import argparse
import glob
import os

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class AlignedPairs(Dataset):
    """Each picture is A|B side by side, like the facades set."""

    def __init__(self, folder, size=32):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.jpg")) + glob.glob(os.path.join(folder, "*.png")))
        if not self.paths:
            raise FileNotFoundError(f"no pictures in {folder}")
        self.size = size

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        im = Image.open(self.paths[i]).convert("RGB").resize((2 * self.size, self.size), Image.BICUBIC)
        t = torch.from_numpy(np.asarray(im, dtype=np.float32)).permute(2, 0, 1) / 127.5 - 1
        photo, label = t[:, :, : self.size], t[:, :, self.size :]
        return label.contiguous(), photo.contiguous()


def down(i, o, norm=True):
    layers = [nn.Conv2d(i, o, 4, 2, 1, bias=not norm)]
    if norm:
        layers.append(nn.InstanceNorm2d(o))
    return nn.Sequential(*layers, nn.LeakyReLU(0.2))


def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.InstanceNorm2d(o), nn.ReLU())


class Generator(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.d1, self.d2, self.d3 = down(3, nf, False), down(nf, nf * 2), down(nf * 2, nf * 4)
        self.u3, self.u2 = up(nf * 4, nf * 2), up(nf * 4, nf)
        self.out = nn.ConvTranspose2d(nf * 2, 3, 4, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(a)
        c = self.d3(b)
        y = self.u3(c)
        y = self.u2(torch.cat([y, b], 1))
        return torch.tanh(self.out(torch.cat([y, a], 1)))


class PatchDiscriminator(nn.Module):
    def __init__(self, nf=16):
        super().__init__()
        self.net = nn.Sequential(down(6, nf, False), down(nf, nf * 2), nn.Conv2d(nf * 2, 1, 3, 1, 1))

    def forward(self, label, img):
        return self.net(torch.cat([label, img], 1))


class Pix2Pix(L.LightningModule):
    def __init__(self, lr=2e-4, lambda_l1=10.0, betas=(0.5, 0.999)):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.gen = Generator()
        self.disc = PatchDiscriminator()

    @staticmethod
    def gan_loss(pred, real):
        return F.binary_cross_entropy_with_logits(pred, torch.full_like(pred, float(real)))

    def training_step(self, batch, batch_idx):
        label, photo = batch
        opt_g, opt_d = self.optimizers()
        fake = self.gen(label)

        # generator
        self.toggle_optimizer(opt_g)
        adv = self.gan_loss(self.disc(label, fake.detach()), True)
        l1 = F.l1_loss(fake, photo)
        g_loss = adv + self.hparams.lambda_l1 * l1
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        opt_g.step()
        self.untoggle_optimizer(opt_g)

        # discriminator
        self.toggle_optimizer(opt_d)
        d_real = self.gan_loss(self.disc(label, photo), True)
        d_fake = self.gan_loss(self.disc(label, fake.detach()), False)
        d_loss = 0.5 * (d_real + d_fake)
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        self.untoggle_optimizer(opt_d)

        self.log_dict({"adv": adv, "l1": l1, "d": d_loss}, on_step=False, on_epoch=True)

    def on_train_epoch_end(self):
        for sch in self.lr_schedulers():
            sch.step()
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch}: adv {m['adv']:.4f} l1 {m['l1']:.4f} d {m['d']:.4f}")

    def configure_optimizers(self):
        lr, betas = self.hparams.lr, self.hparams.betas
        opts = [torch.optim.Adam(net.parameters(), lr=lr, betas=betas) for net in (self.gen, self.disc)]
        n = self.trainer.max_epochs

        def decay(epoch):  # constant for the first half, then linear to zero
            return 1.0 - max(0, epoch - n // 2) / max(1, n - n // 2)

        return opts, [torch.optim.lr_scheduler.LambdaLR(o, decay) for o in opts]


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--dataroot", required=True, help="folder with train/")
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--save", default="pix2pix.pt")
    a = ap.parse_args()

    L.seed_everything(0)
    loader = DataLoader(AlignedPairs(os.path.join(a.dataroot, "train")), batch_size=a.batch_size, shuffle=True)
    model = Pix2Pix(lr=a.lr)
    trainer = L.Trainer(max_epochs=a.epochs, accelerator="auto", devices=1, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(model, loader)
    torch.save({"gen": model.gen.state_dict(), "disc": model.disc.state_dict()}, a.save)
