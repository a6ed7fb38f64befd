"""1-d denoising of sensor windows, Lightning with manual optimization and accumulation."""
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_windows(n, length=64):
    t = torch.linspace(0, 1, length)
    freq = 1 + 4 * torch.rand(n, 1)
    phase = 6.28 * torch.rand(n, 1)
    clean = torch.sin(6.28 * freq * t + phase).unsqueeze(1)
    noisy = clean + 0.5 * torch.randn_like(clean)
    return TensorDataset(noisy, clean)


class Denoiser(L.LightningModule):
    def __init__(self, width=16, lr=0.05, accumulate=4, clip=1.0, max_epochs=8):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.net = nn.Sequential(
            nn.Conv1d(1, width, 9, padding=4), nn.ReLU(),
            nn.Conv1d(width, width, 9, padding=4), nn.ReLU(),
            nn.Conv1d(width, 1, 9, padding=4),
        )
        self.val_loss = None

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        k = self.hparams.accumulate
        noisy, clean = batch
        loss = F.mse_loss(self(noisy), clean)

        if batch_idx % k == 0:
            opt.zero_grad()
        self.manual_backward(loss / k)

        if (batch_idx + 1) % k == 0:
            self.clip_gradients(
                opt, gradient_clip_val=self.hparams.clip, gradient_clip_algorithm="norm"
            )
            opt.step()

    def on_train_epoch_end(self):
        self.lr_schedulers().step()

    def validation_step(self, batch, batch_idx):
        noisy, clean = batch
        self.log("val_loss", F.mse_loss(self(noisy), clean), batch_size=len(noisy))

    def on_validation_epoch_end(self):
        self.val_loss = float(self.trainer.callback_metrics["val_loss"])

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.hparams.max_epochs)
        return [opt], [sched]


class PrintLoss(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        lr = trainer.optimizers[0].param_groups[0]["lr"]
        print(f"epoch {trainer.current_epoch} lr {lr:.4f} val {module.val_loss:.4f}")


def main():
    torch.set_num_threads(1)
    L.seed_everything(0, verbose=False)
    # 1024 windows / 16 = 64 batches per epoch, a multiple of accumulate
    train_dl = DataLoader(make_windows(1024), batch_size=16, shuffle=True, drop_last=True)
    val_dl = DataLoader(make_windows(256), batch_size=64)
    model = Denoiser()
    trainer = L.Trainer(
        max_epochs=model.hparams.max_epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[PrintLoss()],
    )
    trainer.fit(model, train_dl, val_dl)


if __name__ == "__main__":
    main()
