import pytorch_lightning as pl
import torch


class MyModel(pl.LightningModule):
    def __init__(self, net, criterion, lr=0.05):
        super().__init__()
        self.net, self.criterion, self.lr = net, criterion, lr

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return {"loss": self.criterion(self(x), y)}

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        norm = torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm=1.0)
        self.last_norm = norm

    def configure_optimizers(self):
        return {"optimizer": torch.optim.SGD(self.parameters(), lr=self.lr)}


if __name__ == "__main__":
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(MyModel(model, criterion), train_dataloaders=train_loader)
