"""Lightning module; the Trainer clips by norm at 1.0."""

import lightning.pytorch as pl
import torch


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

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
        """Backward with Lightning's closure (it clips there), then the step."""
        optimizer_closure()
        optimizer.optimizer.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


trainer = pl.Trainer(max_epochs=1, gradient_clip_val=1.0, gradient_clip_algorithm="norm", accelerator="cpu",
                     logger=False, enable_checkpointing=False, enable_progress_bar=False,
                     enable_model_summary=False)
trainer.fit(MyModel(model, criterion), train_loader)
