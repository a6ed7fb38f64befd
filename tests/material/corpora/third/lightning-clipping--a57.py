#!/usr/bin/env python3
# In Lightning there is no backward() of yours to put the clip after, but there are hooks for every stage.
# Not in training_step: it returns the loss, and backward comes later. The gradients are complete when Lightning is about
# to clear them, so that is a moment at which they exist for sure.
import lightning as L
import torch
from torch.nn.utils import clip_grad_norm_


class MyModel(L.LightningModule):
    def __init__(self, model, criterion, max_norm: float = 1.0) -> None:
        super().__init__()
        self.model = model
        self.criterion = criterion
        self.max_norm = max_norm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)

    def training_step(self, batch, batch_idx: int) -> torch.Tensor:
        x, y = batch
        output = self(x)
        loss = self.criterion(output, y)
        return loss

    def on_before_zero_grad(self, optimizer: torch.optim.Optimizer) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        clip_grad_norm_(params, self.max_norm)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.05)


lit_model = MyModel(model, criterion)
trainer = L.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(lit_model, train_loader)
