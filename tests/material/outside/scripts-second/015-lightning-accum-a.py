import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitRegressor(L.LightningModule):
    """Manual optimisation, since the real project has two optimizers."""

    def __init__(self, lr=0.05, accumulate=4):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 1))

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        n = self.hparams.accumulate
        x, y = batch
        loss = F.mse_loss(self.net(x), y)
        self.manual_backward(loss / n)
        if (batch_idx + 1) % n == 0:
            self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            opt.step()
        self.log("loss", loss)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


def main():
    L.seed_everything(0, verbose=False)
    x = torch.randn(128, 5)
    y = x.sum(1, keepdim=True) + 0.1 * torch.randn(128, 1)
    loader = DataLoader(TensorDataset(x, y), batch_size=8)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    model = LitRegressor()
    trainer.fit(model, loader)
    print("final", trainer.callback_metrics["loss"].item())


if __name__ == "__main__":
    main()
