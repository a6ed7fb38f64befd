"""Lightning module with norm clipping at 1.0."""

import lightning.pytorch as pl
import torch


class MyModel(pl.LightningModule):
    """A network, its loss, SGD with weight decay on matrices."""

    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)

    def on_before_optimizer_step(self, optimizer):
        # after backward, before step: the one place where clipping counts
        torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm=1.0)

    def configure_optimizers(self):
        vectors = [p for p in self.parameters() if p.ndim < 2]
        matrices = [p for p in self.parameters() if p.ndim >= 2]
        return torch.optim.SGD([{"params": vectors}, {"params": matrices}], lr=0.05)


trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(MyModel(model, criterion), train_loader)
