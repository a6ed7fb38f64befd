"""Transformer for English-German sentence pairs (one tab-separated pair per line, Tatoeba style)."""
import argparse
import os
import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, BOS, EOS, UNK = range(4)


class Vocab:
    def __init__(self, sentences, size):
        counts = Counter(w for s in sentences for w in s)
        self.itos = ["<pad>", "<s>", "</s>", "<unk>"] + [w for w, c in counts.most_common(size) if c > 1]
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def encode(self, words):
        return torch.tensor([BOS] + [self.stoi.get(w, UNK) for w in words] + [EOS])

    def __len__(self):
        return len(self.itos)


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, d=256, heads=4, layers=3, ff=1024, dropout=0.1, max_len=128):
        super().__init__()
        self.src = nn.Embedding(n_src, d, padding_idx=PAD)
        self.tgt = nn.Embedding(n_tgt, d, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, d)
        self.core = nn.Transformer(d, heads, layers, layers, ff, dropout, batch_first=True)
        self.out = nn.Linear(d, n_tgt)
        self.d = d

    def embed(self, table, x):
        return table(x) * self.d ** 0.5 + self.pos(torch.arange(x.size(1), device=x.device))

    def forward(self, src, tgt):
        causal = torch.triu(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device), 1)
        sp, tp = src == PAD, tgt == PAD
        h = self.core(self.embed(self.src, src), self.embed(self.tgt, tgt), tgt_mask=causal,
                      src_key_padding_mask=sp, tgt_key_padding_mask=tp, memory_key_padding_mask=sp)
        return self.out(h)


class Trainer:
    def __init__(self, model, train_loader, valid_loader, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.train_loader, self.valid_loader = train_loader, valid_loader
        self.criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr, betas=(0.9, 0.98), eps=1e-9)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda s: min((s + 1) / args.warmup, (args.warmup / (s + 1)) ** 0.5)
        )
        self.epoch, self.best = 0, float("inf")

    def state(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
        }

    def resume(self, path):
        ckpt = torch.load(path, map_location=self.device)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.epoch, self.best = ckpt["epoch"], ckpt["best"]
        print(f"resuming after epoch {self.epoch}")

    def step_loss(self, src, tgt):
        src, tgt = src.to(self.device), tgt.to(self.device)
        logits = self.model(src, tgt[:, :-1])
        return self.criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for src, tgt in self.train_loader:
            loss = self.step_loss(src, tgt)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.scheduler.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        return sum(self.step_loss(s, t).item() for s, t in self.valid_loader) / len(self.valid_loader)

    def fit(self):
        while self.epoch < self.args.epochs:
            tr = self.train_epoch()
            va = self.validate()
            self.epoch += 1
            print(f"epoch {self.epoch} train {tr:.4f} valid {va:.4f} lr {self.scheduler.get_last_lr()[0]:.2e}")
            if va < self.best:
                self.best = va
                torch.save(self.model.state_dict(), os.path.join(self.args.out, "best.pt"))
            torch.save(self.state(), os.path.join(self.args.out, "last.pt"))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("pairs", help="deu.txt")
    ap.add_argument("--out", required=True)
    ap.add_argument("--resume", action="store_true")
    ap.add_argument("--vocab", type=int, default=12000)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--lr", type=float, default=7e-4)
    ap.add_argument("--warmup", type=int, default=2000)
    ap.add_argument("--dim", type=int, default=256)
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    random.seed(1)
    torch.manual_seed(1)

    with open(args.pairs, encoding="utf-8") as f:
        rows = [line.lower().rstrip("\n").split("\t")[:2] for line in f if "\t" in line]
    pairs = [(a.split()[:100], b.split()[:100]) for a, b in rows]
    random.shuffle(pairs)
    cut = len(pairs) // 20
    valid, train = pairs[:cut], pairs[cut:]
    sv, tv = Vocab([a for a, _ in train], args.vocab), Vocab([b for _, b in train], args.vocab)

    def collate(batch):
        src = pad_sequence([sv.encode(a) for a, _ in batch], batch_first=True, padding_value=PAD)
        tgt = pad_sequence([tv.encode(b) for _, b in batch], batch_first=True, padding_value=PAD)
        return src, tgt

    trainer = Trainer(
        Seq2Seq(len(sv), len(tv), args.dim),
        DataLoader(train, args.batch, shuffle=True, collate_fn=collate),
        DataLoader(valid, args.batch, collate_fn=collate),
        args,
    )
    if args.resume:
        trainer.resume(os.path.join(args.out, "last.pt"))
    trainer.fit()


if __name__ == "__main__":
    main()
