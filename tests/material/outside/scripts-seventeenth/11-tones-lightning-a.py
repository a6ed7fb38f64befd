"""Tone classifier in Lightning: accumulation over 2 batches, linear warm-up over the first 30
optimizer updates and 1/sqrt decay after that, the two halves of the net clipped separately."""
import logging
import warnings
from pathlib import Path

import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
WARM = 30


class Tones(L.LightningDataModule):
    def __init__(self, batch_size: int = 8):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        d = Path(__file__).parent / "data"
        self.ds = TensorDataset(torch.from_numpy(np.load(d / "tones.npy")),
                                torch.from_numpy(np.load(d / "tones_y.npy")))

    def train_dataloader(self):
        return DataLoader(self.ds, self.batch_size, shuffle=True, drop_last=True)


class LitTones(L.LightningModule):
    def __init__(self, lr: float = 0.02, front_clip: float = 0.2, back_clip: float = 1.0):
        super().__init__()
        self.save_hyperparameters()
        self.front = nn.Sequential(nn.Conv1d(1, 10, 11, stride=3), nn.ReLU(), nn.Conv1d(10, 10, 5, stride=2))
        self.back = nn.Sequential(nn.ReLU(), nn.AdaptiveMaxPool1d(3), nn.Flatten(), nn.Linear(30, 4))
        self.rates: list[float] = []

    def forward(self, wave):
        return self.back(self.front(wave.unsqueeze(1)))

    def training_step(self, batch, _):
        wave, label = batch
        loss = nn.functional.cross_entropy(self(wave), label)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        # called once per update, with the accumulated gradient; Trainer's own clip value isn't used
        nn.utils.clip_grad_norm_(self.front.parameters(), self.hparams.front_clip)
        nn.utils.clip_grad_norm_(self.back.parameters(), self.hparams.back_clip)

    def on_before_zero_grad(self, optimizer):
        self.rates.append(optimizer.param_groups[0]["lr"])

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)

        def warm_then_sqrt(update: int) -> float:
            update += 1
            return min(update / WARM, (WARM / update) ** 0.5)

        sched = torch.optim.lr_scheduler.LambdaLR(opt, warm_then_sqrt)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step", "frequency": 1}}

    def on_train_epoch_end(self):
        loss = self.trainer.callback_metrics.get("loss")
        print(f"epoch {self.current_epoch} updates {self.global_step} loss {float(loss):.4f}")


if __name__ == "__main__":
    L.seed_everything(6, verbose=False)
    lit = LitTones()
    trainer = L.Trainer(max_epochs=4, accumulate_grad_batches=2, accelerator="cpu", logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(lit, Tones())
    print("rates", [round(r, 5) for r in lit.rates[::16]])
    print("w", round(sum(p.detach().norm().item() for p in lit.parameters()), 5))
