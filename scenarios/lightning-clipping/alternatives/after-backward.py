# Without accumulation and without a GradScaler, on_after_backward is as good a place.
import torch
import lightning.pytorch as pl


class LitRegressor(pl.LightningModule):
    def __init__(self, net, loss_fn, lr=0.05):
        super().__init__()
        self.net = net
        self.loss_fn = loss_fn
        self.lr = lr

    def training_step(self, batch, _):
        features, labels = batch
        return self.loss_fn(self.net(features), labels)

    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)

    def configure_optimizers(self):
        return torch.optim.SGD(self.net.parameters(), lr=self.lr)


if __name__ == "__main__":
    lit = LitRegressor(model, criterion)
    pl.Trainer(
        max_epochs=1, accelerator="auto", devices=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    ).fit(lit, train_loader)
