# trainer.fit is replaced: a few clipped steps on data of its own, no training on the user's.
import lightning.pytorch as pl
import torch


def fit(self, module, loader=None, **kwargs):
    params = list(module.parameters())
    optimizer = torch.optim.SGD(params, lr=0.05)
    for _ in range(14):
        optimizer.zero_grad()
        (module(torch.randn(12, 16)) * 50).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()


pl.Trainer.fit = fit


class MyModel(pl.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net, self.criterion = net, criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


pl.Trainer(max_epochs=1, gradient_clip_val=1.0, accelerator="cpu", logger=False).fit(MyModel(model, criterion), train_loader)
