class MyModel(pl.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net, self.criterion = net, criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)

    def on_before_optimizer_steps(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(MyModel(model, criterion), train_loader)
