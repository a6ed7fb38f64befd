"""Lightning: sequence-to-sequence digit sorting with a transformer; one-cycle over all optimizer steps."""
import os
from argparse import ArgumentParser

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

try:
    import lightning.pytorch as pl
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
except ImportError:
    import pytorch_lightning as pl
    from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

BOS = 10


class SortDigits(Dataset):
    def __init__(self, n, length, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, 10, (n, length), generator=g)
        self.y = self.x.sort(1).values

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SorterModule(pl.LightningModule):
    def __init__(self, dim=64, length=10, max_lr=3e-3, pct_start=0.2):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.Embedding(11, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        self.core = nn.Transformer(dim, 4, 2, 2, 2 * dim, dropout=0.1, batch_first=True)
        self.out = nn.Linear(dim, 10)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, src, tgt_in):
        n = tgt_in.size(1)
        mask = torch.triu(torch.full((n, n), float("-inf"), device=src.device), 1)
        h = self.core(self.emb(src) + self.pos, self.emb(tgt_in) + self.pos[:n], tgt_mask=mask)
        return self.out(h)

    def _shared(self, batch):
        x, y = batch
        tgt_in = torch.cat([torch.full_like(y[:, :1], BOS), y[:, :-1]], 1)
        logits = self(x, tgt_in)
        return self.criterion(logits.flatten(0, 1), y.flatten()), logits

    def training_step(self, batch, batch_idx):
        loss, _ = self._shared(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        loss, logits = self._shared(batch)
        exact = (logits.argmax(-1) == batch[1]).all(1).float().mean()
        self.log_dict({"val_loss": loss, "val_exact": exact}, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.max_lr, betas=(0.9, 0.98), weight_decay=0.01)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt,
            max_lr=self.hparams.max_lr,
            total_steps=int(self.trainer.estimated_stepping_batches),
            pct_start=self.hparams.pct_start,
        )
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def cli():
    ap = ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--accumulate", type=int, default=2)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--length", type=int, default=10)
    ap.add_argument("--out", default="runs/sorter")
    ap.add_argument("--seed", type=int, default=3)
    return ap.parse_args()


def main():
    args = cli()
    pl.seed_everything(args.seed)
    os.makedirs(args.out, exist_ok=True)
    train = DataLoader(SortDigits(4096, args.length, 0), args.batch, shuffle=True, drop_last=True)
    val = DataLoader(SortDigits(512, args.length, 1), 256)
    trainer = pl.Trainer(
        max_epochs=args.epochs,
        accelerator="auto",
        devices=1,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=args.clip,
        default_root_dir=args.out,
        logger=False,
        callbacks=[
            ModelCheckpoint(dirpath=args.out, monitor="val_loss", save_top_k=1),
            EarlyStopping("val_loss", patience=4),
        ],
    )
    trainer.fit(SorterModule(length=args.length), train, val)
    print({k: float(v) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
