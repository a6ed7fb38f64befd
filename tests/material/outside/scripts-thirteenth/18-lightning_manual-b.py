"""Lightning module with manual optimization and gradient accumulation (time series imputation)."""
import argparse
import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def series(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(length) / length
    f = 1 + 4 * torch.rand(n, 1, generator=g)
    p = 6.28 * torch.rand(n, 1, generator=g)
    x = torch.sin(6.28 * f * t + p) + 0.5 * torch.sin(2.3 * 6.28 * f * t)
    return x + 0.05 * torch.randn(n, length, generator=g)


class Imputer(L.LightningModule):
    def __init__(self, length=48, width=96, lr=0.1, accum=4, clip=1.0, drop=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.net = nn.Sequential(
            nn.Linear(2 * length, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, length),
        )

    def forward(self, x, mask):
        return self.net(torch.cat([x * mask, mask], 1))

    def masked_loss(self, x):
        mask = (torch.rand_like(x) > self.hparams.drop).float()
        hidden = 1 - mask
        err = (self(x, mask) - x).pow(2) * hidden
        return err.sum() / hidden.sum().clamp(min=1)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        opt = self.optimizers()
        accum = self.hparams.accum
        if batch_idx % accum == 0:
            opt.zero_grad()
        loss = self.masked_loss(x)
        self.manual_backward(loss / accum)
        if (batch_idx + 1) % accum == 0:
            self.clip_gradients(opt, gradient_clip_val=self.hparams.clip, gradient_clip_algorithm="norm")
            opt.step()
        self.log("train_loss", loss.detach(), on_step=False, on_epoch=True)

    def on_train_epoch_end(self):
        sched = self.lr_schedulers()
        sched.step()
        loss = self.trainer.callback_metrics["train_loss"].item()
        print(f"epoch {self.current_epoch}: train {loss:.4f} lr {sched.get_last_lr()[0]:.4f}")

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.masked_loss(batch[0]))

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs)
        return [opt], [sched]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.1)
    args = ap.parse_args()
    L.seed_everything(0, verbose=False)

    train = DataLoader(TensorDataset(series(1024, 48, 1)), args.batch_size, shuffle=True)
    val = DataLoader(TensorDataset(series(256, 48, 2)), 64)
    model = Imputer(lr=args.lr, accum=args.accum)
    trainer = L.Trainer(
        max_epochs=args.epochs, accelerator="cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(model, train, val)
    print("val", round(trainer.callback_metrics["val_loss"].item(), 4))


if __name__ == "__main__":
    main()
