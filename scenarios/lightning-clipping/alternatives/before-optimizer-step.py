# on_before_optimizer_step runs after backward, inside the closure, right before the update.
import pytorch_lightning as pl
import torch
from torch.nn.utils import clip_grad_norm_


class MyModel(pl.LightningModule):
    def __init__(self, model, criterion):
        super().__init__()
        self.model = model
        self.criterion = criterion

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        output = self(x)
        loss = self.criterion(output, y)
        return loss

    def on_before_optimizer_step(self, optimizer):
        norm = clip_grad_norm_(self.parameters(), max_norm=1.0)
        self.log("grad_norm", norm)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


lit_model = MyModel(model, criterion)
trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(lit_model, train_loader)
