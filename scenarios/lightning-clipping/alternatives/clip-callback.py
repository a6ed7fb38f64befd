# A callback, so that the module stays as it is.
import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback


class ClipGradients(Callback):
    def __init__(self, max_norm: float = 1.0):
        self.max_norm = max_norm
        self.largest = 0.0

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        norm = torch.nn.utils.clip_grad_norm_(pl_module.parameters(), self.max_norm)
        self.largest = max(self.largest, norm.item())


class MyModel(pl.LightningModule):
    def __init__(self, backbone, criterion):
        super().__init__()
        self.backbone = backbone
        self.criterion = criterion

    def forward(self, x):
        return self.backbone(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return {"loss": self.criterion(self(x), y)}

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}


clip = ClipGradients()
trainer = pl.Trainer(callbacks=[clip], max_epochs=1, accelerator="cpu", logger=False,
                     enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(MyModel(model, criterion), train_loader)
print("largest norm before clipping:", clip.largest)
