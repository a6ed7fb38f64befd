# Not before the return: in training_step the backward of this batch has not run yet. Lightning calls
# configure_gradient_clipping after backward and before the optimizer's step; that is the thing to override when you want the
# threshold to live with the model instead of with the Trainer.
import lightning.pytorch as pl
import torch


class MyModel(pl.LightningModule):
    def __init__(self, model, criterion, lr: float = 0.05):
        super().__init__()
        self.model = model
        self.criterion = criterion
        self.lr = lr

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        output = self(x)
        loss = self.criterion(output, y)
        return loss

    def configure_gradient_clipping(
        self, optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm"
    ):
        # same as clip_grad_norm_(self.parameters(), 1.0) in the old loop
        self.clip_gradients(
            optimizer,
            gradient_clip_val=gradient_clip_val,
            gradient_clip_algorithm=gradient_clip_algorithm,
        )

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


trainer = pl.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(MyModel(model, criterion), train_loader)
