#!/usr/bin/env python
"""Sentiment classification of product reviews with Accelerate.

accelerate launch train.py --train reviews_train.csv --valid reviews_valid.csv
CSV columns: text,label
"""
import argparse
import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset, RandomSampler

TOKEN = re.compile(r"[a-z']+")


def tokenize(s):
    return TOKEN.findall(str(s).lower())


class Reviews(Dataset):
    def __init__(self, csv, vocab, max_len):
        df = pd.read_csv(csv)
        self.labels = df["label"].astype(int).tolist()
        self.ids = [[vocab.get(t, 1) for t in tokenize(s)][:max_len] or [1] for s in df["text"]]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i], self.labels[i]


def collate(batch):
    n = max(len(ids) for ids, _ in batch)
    x = torch.zeros(len(batch), n, dtype=torch.long)
    for r, (ids, _) in enumerate(batch):
        x[r, :len(ids)] = torch.tensor(ids)
    return x, torch.tensor([l for _, l in batch])


class Encoder(nn.Module):
    def __init__(self, vocab_size, d=128, heads=4, layers=2, max_len=256, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, d, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(max_len, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(d, classes)

    def forward(self, x):
        pad = x == 0
        h = self.enc(self.emb(x) + self.pos[:x.size(1)], src_key_padding_mask=pad)
        h = h.masked_fill(pad.unsqueeze(-1), 0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.out(h)


def build_vocab(csv, size):
    c = Counter()
    for s in pd.read_csv(csv)["text"]:
        c.update(tokenize(s))
    return {w: i + 2 for i, (w, _) in enumerate(c.most_common(size - 2))}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", required=True)
    ap.add_argument("--valid", required=True)
    ap.add_argument("--out", default="sentiment")
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--bs", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--max-len", type=int, default=256)
    ap.add_argument("--vocab", type=int, default=20000)
    ap.add_argument("--max-grad-norm", type=float, default=1.0)
    ap.add_argument("--precision", default="no", choices=["no", "fp16", "bf16"])
    args = ap.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision=args.precision)
    set_seed(1)
    vocab = build_vocab(args.train, args.vocab)
    train_set = Reviews(args.train, vocab, args.max_len)
    per_update = args.bs * args.accum * accelerator.num_processes
    sampler = RandomSampler(train_set, num_samples=len(train_set) // per_update * per_update)
    train_dl = DataLoader(train_set, args.bs, sampler=sampler, collate_fn=collate, drop_last=True)
    valid_dl = DataLoader(Reviews(args.valid, vocab, args.max_len), args.bs * 2, collate_fn=collate)

    model = Encoder(len(vocab) + 2, max_len=args.max_len)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model, optimizer, train_dl, valid_dl = accelerator.prepare(model, optimizer, train_dl, valid_dl)

    history = []
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_dl:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss / args.accum)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                optimizer.zero_grad()
            running += loss.item()

        model.eval()
        correct = total = 0
        for x, y in valid_dl:
            with torch.no_grad():
                pred = model(x).argmax(-1)
            pred, y = accelerator.gather_for_metrics((pred, y))
            correct += (pred == y).sum().item()
            total += y.numel()
        history.append({"epoch": epoch, "loss": running / len(train_dl), "acc": correct / total})
        accelerator.print(history[-1])

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        out = Path(args.out)
        out.mkdir(parents=True, exist_ok=True)
        torch.save(accelerator.unwrap_model(model).state_dict(), out / "model.pt")
        (out / "vocab.json").write_text(json.dumps(vocab))
        (out / "history.json").write_text(json.dumps(history, indent=2))


if __name__ == "__main__":
    main()
