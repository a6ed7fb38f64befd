"""training_step stays clean; the clip lives in a Lightning hook, as in the old loop around the optimizer."""
import lightning.pytorch as pl
import torch


class MyModel(pl.LightningModule):
    def __init__(self, net, criterion, max_norm=1.0):
        super().__init__()
        self.net = net
        self.criterion = criterion
        self.max_norm = max_norm

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)

    def on_before_zero_grad(self, optimizer):
        # gradients are complete here and about to be consumed: clip them
        torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm=self.max_norm)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


trainer = pl.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(MyModel(model, criterion), train_loader)
