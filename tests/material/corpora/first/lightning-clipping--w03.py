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

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure=None):
        # between backward and the update, as in the old loop
        torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm=self.max_norm)
        optimizer.step(closure=optimizer_closure)

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
