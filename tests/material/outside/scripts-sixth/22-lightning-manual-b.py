"""LightningModule with manual optimization: matrix-factorisation recommender with two optimizers
(sparse embeddings, dense tower). The gradient of the tower is clipped to `clip` before its step."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning as L
except ImportError:
    import pytorch_lightning as L


class Recommender(L.LightningModule):
    def __init__(self, users, items, dim=32, lr_emb=0.01, lr_tower=1e-3, clip=0.5):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.Embedding(items, dim, sparse=True)
        self.tower = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)

    def forward(self, u, i):
        return self.tower(torch.cat([self.user(u), self.item(i)], dim=-1)).squeeze(-1)

    def training_step(self, batch, batch_idx):
        opt_emb, opt_tower = self.optimizers()
        u, i, r = batch
        loss = F.mse_loss(self(u, i), r)
        opt_emb.zero_grad()
        opt_tower.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(opt_tower, gradient_clip_val=self.hparams.clip, gradient_clip_algorithm="norm")
        opt_emb.step()
        opt_tower.step()
        self.log("train_loss", loss.detach(), prog_bar=True)

    def on_train_epoch_end(self):
        for s in self.lr_schedulers():
            s.step()

    def validation_step(self, batch, batch_idx):
        u, i, r = batch
        self.log("val_rmse", F.mse_loss(self(u, i), r).sqrt(), prog_bar=True)

    def configure_optimizers(self):
        h = self.hparams
        emb = torch.optim.SparseAdam([*self.user.parameters(), *self.item.parameters()], lr=h.lr_emb)
        tower = torch.optim.AdamW(self.tower.parameters(), lr=h.lr_tower)
        schedulers = [torch.optim.lr_scheduler.StepLR(o, step_size=5, gamma=0.5) for o in (emb, tower)]
        return [emb, tower], schedulers


def make_ratings(users, items, n, seed=0):
    g = torch.Generator().manual_seed(seed)
    pu, qi = torch.randn(users, 6, generator=g), torch.randn(items, 6, generator=g)
    u = torch.randint(0, users, (n,), generator=g)
    i = torch.randint(0, items, (n,), generator=g)
    r = 3 + 0.5 * (pu[u] * qi[i]).sum(1) + 0.2 * torch.randn(n, generator=g)
    return u, i, r.clamp(1, 5)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ratings", help=".pt file with (user, item, rating)")
    p.add_argument("--users", type=int, default=300)
    p.add_argument("--items", type=int, default=200)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--clip", type=float, default=0.5)
    args = p.parse_args()
    L.seed_everything(0)
    if args.ratings:
        u, i, r = torch.load(args.ratings)
        args.users, args.items = int(u.max()) + 1, int(i.max()) + 1
    else:
        u, i, r = make_ratings(args.users, args.items, 20000)
    cut = int(0.9 * len(r))
    train = DataLoader(TensorDataset(u[:cut], i[:cut], r[:cut]), args.batch, shuffle=True)
    val = DataLoader(TensorDataset(u[cut:], i[cut:], r[cut:]), 1024)
    trainer = L.Trainer(
        max_epochs=args.epochs, accelerator="auto", devices=1, logger=False, enable_checkpointing=False
    )
    model = Recommender(args.users, args.items, clip=args.clip)
    trainer.fit(model, train, val)
    torch.save(model.state_dict(), "recommender.pt")


if __name__ == "__main__":
    main()
