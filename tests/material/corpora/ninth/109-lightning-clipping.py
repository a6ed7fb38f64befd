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
        output = self(x)
        loss = self.criterion(output, y)
        return loss

    def on_before_zero_grad(self, optimizer):
        # backward is done, gradients are still there: the moment to clip
        torch.nn.utils.clip_grad_norm_(self.parameters(), self.max_norm)

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
