import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, lr: float = 1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))
        self.loss = nn.CrossEntropyLoss()

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(5)
    data = TensorDataset(torch.randn(640, 16), torch.randint(0, 3, (640,)))
    trainer = L.Trainer(
        max_epochs=4, accumulate_grad_batches=2, gradient_clip_val=1.0, accelerator="cpu", logger=False
    )
    trainer.fit(Classifier(), DataLoader(data, batch_size=32, shuffle=True))
