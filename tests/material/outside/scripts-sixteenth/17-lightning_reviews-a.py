"""Review classifier with Lightning, linear warmup then inverse square root decay."""
import argparse
import json
import logging
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
import lightning as L

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class ReviewSet(Dataset):
    def __init__(self, rows, vocab):
        self.rows, self.vocab = rows, vocab

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        return [self.vocab[w] for w in r["text"].split() if w in self.vocab], r["label"]


def collate(batch):
    ids, labels = zip(*batch)
    return nn.utils.rnn.pad_sequence([torch.tensor(i) for i in ids], batch_first=True), torch.tensor(labels)


class ReviewData(L.LightningDataModule):
    def __init__(self, path, batch_size=20):
        super().__init__()
        self.path, self.batch_size = path, batch_size
        self.rows = [json.loads(line) for line in open(path)]
        words = sorted({w for r in self.rows[:280] for w in r["text"].split()})
        self.vocab = {w: i + 1 for i, w in enumerate(words)}

    def train_dataloader(self):
        return DataLoader(ReviewSet(self.rows[:280], self.vocab), self.batch_size, shuffle=True, collate_fn=collate)

    def val_dataloader(self):
        return DataLoader(ReviewSet(self.rows[280:], self.vocab), 80, collate_fn=collate)


class ReviewModel(L.LightningModule):
    def __init__(self, vocab_size, dim=32, lr=1e-2, warmup_steps=20):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * dim, 2)

    def forward(self, ids):
        h, _ = self.gru(self.emb(ids))
        h = h.masked_fill((ids == 0).unsqueeze(-1), float("-inf"))
        return self.fc(h.max(1).values)

    def training_step(self, batch, batch_idx):
        ids, y = batch
        loss = F.cross_entropy(self(ids), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        ids, y = batch
        logits = self(ids)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(-1) == y).float().mean())

    def on_validation_epoch_end(self):
        if self.trainer.sanity_checking:
            return
        m = self.trainer.callback_metrics
        lr = self.trainer.optimizers[0].param_groups[0]["lr"]
        print(f"epoch {self.current_epoch} step {self.global_step} "
              f"val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.3f} lr {lr:.2e}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.01)
        w = self.hparams.warmup_steps

        def factor(step):
            step += 1
            return min(step / w, (w / step) ** 0.5)

        sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=str, default="data/reviews.jsonl")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    dm = ReviewData(args.data)
    model = ReviewModel(len(dm.vocab) + 1, lr=args.lr)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="auto", gradient_clip_val=1.0, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, dm)


if __name__ == "__main__":
    main()
