"""Lightning classifier with OneCycle schedule."""
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitNet(L.LightningModule):
    def __init__(self, max_lr=0.3):
        super().__init__()
        self.max_lr = max_lr
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.max_lr, momentum=0.9)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.max_lr, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


class Blobs(L.LightningDataModule):
    def setup(self, stage):
        g = torch.Generator().manual_seed(0)
        y = torch.randint(0, 3, (192,), generator=g)
        x = torch.randn(3, 8, generator=g)[y] + torch.randn(192, 8, generator=g)
        self.ds = TensorDataset(x, y)

    def train_dataloader(self):
        return DataLoader(self.ds, batch_size=16)


if __name__ == "__main__":
    L.seed_everything(1, verbose=False)
    net = LitNet()
    trainer = L.Trainer(max_epochs=3, accelerator="cpu", gradient_clip_val=1.0, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(net, datamodule=Blobs())
    print(trainer.optimizers[0].param_groups[0]["lr"], trainer.callback_metrics["train_loss"].item())
