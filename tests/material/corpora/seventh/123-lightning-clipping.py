# Not in training_step: at the `return` there are no gradients of this batch yet, Lightning calls
# backward() afterwards. Clipping is built in. It runs after backward and right before the
# optimizer's step (with fp16 after unscaling, with accumulation once per window):
#
#     pl.Trainer(gradient_clip_val=1.0, gradient_clip_algorithm="norm")
#
# training_step stays as it is. Override configure_gradient_clipping() only for something unusual.
# (HF Trainer: max_grad_norm, Accelerate: accelerator.clip_grad_norm_, fastai: GradientClip.)
import pytorch_lightning as pl
import torch


class MyModel(pl.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        output = self(x)
        loss = self.criterion(output, y)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


settings = dict(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer = pl.Trainer(gradient_clip_val=1.0, gradient_clip_algorithm="norm", **settings)
lit_model = MyModel(model, criterion)
trainer.fit(lit_model, train_loader)
