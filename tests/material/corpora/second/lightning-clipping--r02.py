"""If you want to see every stage: manual optimization. (gradient_clip_val must then NOT be passed to
the Trainer, Lightning refuses that combination; you call self.clip_gradients yourself.)"""
import lightning.pytorch as pl
import torch


class MyModel(pl.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.criterion = criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        loss = self.criterion(self(x), y)

        opt.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt.step()
        return loss.detach()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


lit_model = MyModel(model, criterion)
trainer = pl.Trainer(
    max_epochs=1,
    accelerator="cpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(lit_model, train_loader)
