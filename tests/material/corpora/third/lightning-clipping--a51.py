"""Clipping in Lightning: not in training_step (there is no gradient yet), but in configure_gradient_clipping,
which the trainer calls between backward and optimizer.step().

If all you want is the norm clip, Trainer(gradient_clip_val=1.0, gradient_clip_algorithm="norm") does it without any
of this. The hook below also prints the norm before clipping.
"""
import lightning as L
import torch
from lightning.pytorch.utilities import grad_norm


class MyModel(L.LightningModule):
    def __init__(self, model, criterion, lr: float = 0.05, max_norm: float = 1.0):
        super().__init__()
        self.model = model
        self.criterion = criterion
        self.lr = lr
        self.max_norm = max_norm

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        output = self(x)
        loss = self.criterion(output, y)
        return loss

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        total = grad_norm(self, norm_type=2).get("grad_2.0_norm_total")
        if total is not None and self.global_step % 10 == 0:
            print(f"step {self.global_step}: gradient norm {float(total):.4f}")
        self.clip_gradients(optimizer, gradient_clip_val=self.max_norm, gradient_clip_algorithm="norm")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


lit_model = MyModel(model, criterion)
trainer = L.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(lit_model, train_loader)
