import logging
import warnings
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import lightning as L

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class AdversarialAE(L.LightningModule):
    """Auto-encoder whose code is pushed to a Gaussian by a small critic."""

    def __init__(self, d=12, z=3, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, z))
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))
        self.critic = nn.Sequential(nn.Linear(z, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.bce = nn.BCEWithLogitsLoss()

    def configure_optimizers(self):
        ae = torch.optim.Adam([*self.enc.parameters(), *self.dec.parameters()], lr=self.hparams.lr)
        cr = torch.optim.Adam(self.critic.parameters(), lr=self.hparams.lr)
        sched = [torch.optim.lr_scheduler.ExponentialLR(o, gamma=0.8) for o in (ae, cr)]
        return [ae, cr], sched

    def training_step(self, batch, batch_idx):
        x, = batch
        opt_ae, opt_cr = self.optimizers()

        self.toggle_optimizer(opt_ae)
        code = self.enc(x)
        rec = nn.functional.mse_loss(self.dec(code), x)
        fool = self.bce(self.critic(code), torch.ones(len(x), 1))
        opt_ae.zero_grad()
        self.manual_backward(rec + 0.1 * fool)
        opt_ae.step()
        self.untoggle_optimizer(opt_ae)

        self.toggle_optimizer(opt_cr)
        prior = torch.randn_like(code)
        d_real = self.bce(self.critic(prior), torch.ones(len(x), 1))
        d_fake = self.bce(self.critic(code.detach()), torch.zeros(len(x), 1))
        opt_cr.zero_grad()
        self.manual_backward((d_real + d_fake) / 2)
        opt_cr.step()
        self.untoggle_optimizer(opt_cr)
        self.last = (rec.item(), fool.item())

    def on_train_epoch_end(self):
        lr = self.optimizers()[0].param_groups[0]["lr"]
        print(f"epoch {self.current_epoch} rec {self.last[0]:.4f} fool {self.last[1]:.4f} lr {lr:.2e}")

    def validation_step(self, batch, batch_idx):
        x, = batch
        self.log("val_rec", nn.functional.mse_loss(self.dec(self.enc(x)), x))


def main():
    L.seed_everything(3, verbose=False)
    basis = torch.randn(3, 12)
    data = torch.randn(700, 3) @ basis + 0.1 * torch.randn(700, 12)
    train = DataLoader(TensorDataset(data[:600]), batch_size=50, shuffle=True)
    val = DataLoader(TensorDataset(data[600:]), batch_size=100)
    trainer = L.Trainer(max_epochs=6, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    model = AdversarialAE()
    trainer.fit(model, train, val)
    print("val", trainer.callback_metrics["val_rec"].item())


if __name__ == "__main__":
    main()
