import lightning.pytorch as pl
import torch


class MyModel(pl.LightningModule):
    """Manual optimization: the order of things is in plain sight, as in the old loop."""

    def __init__(self, net, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.criterion = criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        x, y = batch

        optimizer.zero_grad()
        loss = self.criterion(self(x), y)
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


lit_model = MyModel(model, criterion)
trainer = pl.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(lit_model, train_loader)
