import logging

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class ChurnModel(L.LightningModule):
    def __init__(self, d_in=10, hidden=32, lr=1e-2, warmup_steps=10, total_steps=100):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(d_in, hidden), nn.GELU(), nn.Linear(hidden, 1))
        self.epoch_losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.binary_cross_entropy_with_logits(self.net(x).squeeze(1), y)
        self.epoch_losses.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        lr = self.trainer.optimizers[0].param_groups[0]["lr"]
        mean = sum(self.epoch_losses) / len(self.epoch_losses)
        print(f"epoch {self.current_epoch} loss {mean:.4f} lr {lr:.5f} updates {self.global_step}")
        self.epoch_losses.clear()

    def _factor(self, step):
        h = self.hparams
        if step < h.warmup_steps:
            return (step + 1) / h.warmup_steps
        return max(0.0, (h.total_steps - step) / (h.total_steps - h.warmup_steps))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.LambdaLR(opt, self._factor)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def main():
    L.seed_everything(3, verbose=False)
    x = torch.randn(640, 10)
    y = ((x[:, 0] - x[:, 1] * x[:, 2]) > 0).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    epochs, accum = 6, 2
    updates = epochs * (len(loader) // accum)
    model = ChurnModel(warmup_steps=updates // 10, total_steps=updates)
    trainer = L.Trainer(
        max_epochs=epochs,
        accumulate_grad_batches=accum,
        gradient_clip_val=1.0,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)


if __name__ == "__main__":
    main()
