# Manual optimisation: the order is in our hands again.
import lightning as L
import torch


class MyModel(L.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.criterion = criterion

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        opt.zero_grad()
        loss = self.criterion(self.net(x), y)
        self.manual_backward(loss)
        self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt.step()
        return loss.detach()

    def configure_optimizers(self):
        return torch.optim.SGD(self.net.parameters(), lr=0.05)


trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(MyModel(model, criterion), train_dataloaders=train_loader)
