import pytorch_lightning as pl
import torch
from torch.nn.utils import clip_grad_norm_


class GradientClipping(pl.Callback):
    """Clips by global norm; reusable for every module of the team."""

    def __init__(self, max_norm: float = 1.0) -> None:
        self.max_norm = max_norm

    def on_before_zero_grad(self, trainer, pl_module, optimizer) -> None:
        clip_grad_norm_(pl_module.parameters(), self.max_norm)


class MyModel(pl.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


trainer = pl.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[GradientClipping(1.0)],
)
trainer.fit(MyModel(model, criterion), train_loader)
