import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

import lightning as L

warnings.filterwarnings("ignore")


def mlp(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class RingData(L.LightningDataModule):
    def __init__(self, n=1024, batch_size=64):
        super().__init__()
        self.n, self.batch_size = n, batch_size

    def setup(self, stage=None):
        g = torch.Generator().manual_seed(0)
        k = torch.randint(8, (self.n,), generator=g) * (2 * torch.pi / 8)
        pts = torch.stack([k.cos(), k.sin()], 1) + 0.05 * torch.randn(self.n, 2, generator=g)
        self.ds = TensorDataset(pts)

    def train_dataloader(self):
        return DataLoader(self.ds, batch_size=self.batch_size, shuffle=True)


class GAN(L.LightningModule):
    def __init__(self, latent=8, lr=1e-3, b1=0.5, b2=0.99):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator = mlp(latent, 2)
        self.discriminator = mlp(2, 1)

    def forward(self, z):
        return self.generator(z)

    def adversarial_loss(self, logits, real):
        target = torch.full_like(logits, float(real))
        return F.binary_cross_entropy_with_logits(logits, target)

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        z = torch.randn(real.size(0), self.hparams.latent, device=self.device)

        # generator
        self.toggle_optimizer(opt_g)
        g_loss = self.adversarial_loss(self.discriminator(self(z)), True)
        self.manual_backward(g_loss)
        opt_g.step()
        self.untoggle_optimizer(opt_g)

        # discriminator
        self.toggle_optimizer(opt_d)
        opt_d.zero_grad()
        d_loss = 0.5 * (self.adversarial_loss(self.discriminator(real), True)
                        + self.adversarial_loss(self.discriminator(self(z).detach()), False))
        self.manual_backward(d_loss)
        opt_d.step()
        self.untoggle_optimizer(opt_d)

        self.log_dict({"g_loss": g_loss.detach(), "d_loss": d_loss.detach()}, prog_bar=True)

    def on_train_epoch_end(self):
        with torch.no_grad():
            pts = self(torch.randn(256, self.hparams.latent, device=self.device))
        r = pts.norm(dim=1)
        print(f"epoch {self.current_epoch}: radius {r.mean():.3f} +- {r.std():.3f}")

    def configure_optimizers(self):
        kw = dict(lr=self.hparams.lr, betas=(self.hparams.b1, self.hparams.b2))
        return [torch.optim.Adam(self.generator.parameters(), **kw),
                torch.optim.Adam(self.discriminator.parameters(), **kw)], []


if __name__ == "__main__":
    L.seed_everything(3)
    trainer = L.Trainer(max_epochs=4, accelerator="auto", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(GAN(), RingData())
