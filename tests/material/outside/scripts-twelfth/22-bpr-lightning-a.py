import argparse
import json

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def read_plays(path):
    users, items, rows = {}, {}, []
    with open(path) as f:
        for line in f:
            r = json.loads(line)
            u = users.setdefault(r["user"], len(users))
            i = items.setdefault(r["item"], len(items))
            rows.append((u, i))
    return rows, len(users), len(items)


class Triples(Dataset):
    def __init__(self, rows, seen, n_items, fixed=False):
        self.rows, self.seen, self.n_items = rows, seen, n_items
        gen = torch.Generator().manual_seed(0)
        self.neg = [self.draw(u, gen) for u, _ in rows] if fixed else None

    def draw(self, user, gen=None):
        while True:
            j = torch.randint(self.n_items, (1,), generator=gen).item()
            if j not in self.seen[user]:
                return j

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, k):
        u, i = self.rows[k]
        return u, i, self.neg[k] if self.neg else self.draw(u)


class BPR(L.LightningModule):
    def __init__(self, n_users, n_items, dim=32, lr=0.5, reg=1e-3, accumulate=4):
        super().__init__()
        self.save_hyperparameters()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.bias = nn.Embedding(n_items, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def score(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

    def training_step(self, batch, batch_idx):
        u, i, j = batch
        loss = -F.logsigmoid(self.score(u, i) - self.score(u, j)).mean()
        norm = self.user(u).pow(2).sum(1) + self.item(i).pow(2).sum(1) + self.item(j).pow(2).sum(1)
        loss = loss + self.hparams.reg * norm.mean()
        self.log("train_loss", loss, prog_bar=True, batch_size=len(u))
        return loss / self.hparams.accumulate

    def validation_step(self, batch, batch_idx):
        u, i, j = batch
        auc = (self.score(u, i) > self.score(u, j)).float().mean()
        self.log("val_auc", auc, prog_bar=True, batch_size=len(u))

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.5)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "epoch"}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--plays", default="data/plays.jsonl")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--accumulate", type=int, default=4)
    args = ap.parse_args()

    L.seed_everything(0)
    rows, n_users, n_items = read_plays(args.plays)
    seen = {u: set() for u in range(n_users)}
    for u, i in rows:
        seen[u].add(i)
    perm = torch.randperm(len(rows)).tolist()
    cut = int(0.9 * len(rows))
    train = Triples([rows[k] for k in perm[:cut]], seen, n_items)
    val = Triples([rows[k] for k in perm[cut:]], seen, n_items, fixed=True)

    model = BPR(n_users, n_items, accumulate=args.accumulate)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=5.0,
        accelerator="auto",
        devices=1,
        logger=False,
        enable_checkpointing=False,
    )
    trainer.fit(
        model,
        DataLoader(train, args.batch_size, shuffle=True),
        DataLoader(val, 256),
    )
    trainer.save_checkpoint("bpr.ckpt")


if __name__ == "__main__":
    main()
