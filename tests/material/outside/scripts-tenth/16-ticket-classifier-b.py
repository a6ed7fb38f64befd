"""Support ticket routing. train.jsonl / dev.jsonl with {"text": ..., "queue": ...}"""
import argparse
import collections
import json
import re

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

TOKEN = re.compile(r"[a-z0-9']+|[^\sa-z0-9]")


def read(path):
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    return [(TOKEN.findall(r["text"].lower()) or ["."], r["queue"]) for r in rows]


class Vocab:
    def __init__(self, rows, min_count, max_size):
        counts = collections.Counter(t for toks, _ in rows for t in toks)
        words = [w for w, c in counts.most_common(max_size) if c >= min_count]
        self.ids = {w: i + 2 for i, w in enumerate(words)}
        self.queues = sorted({q for _, q in rows})

    def __len__(self):
        return len(self.ids) + 2

    def encode(self, row, max_len):
        toks, q = row
        return torch.tensor([self.ids.get(t, 1) for t in toks[:max_len]]), self.queues.index(q)


def collate(batch):
    lengths = torch.tensor([len(x) for x, _ in batch])
    return pad_sequence([x for x, _ in batch], batch_first=True), lengths, torch.tensor([y for _, y in batch])


class BiLSTM(nn.Module):
    def __init__(self, n_words, n_out, dim=128, hidden=192, dropout=0.4):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, batch_first=True, dropout=dropout)
        self.drop = nn.Dropout(dropout)
        self.query = nn.Linear(2 * hidden, 1)
        self.out = nn.Linear(2 * hidden, n_out)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.drop(self.emb(x)), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.size(1))
        w = self.query(h).squeeze(-1).masked_fill(x == 0, float("-inf")).softmax(1)
        return self.out(self.drop((w[..., None] * h).sum(1)))


def freeze_rows(model, keep_frozen):
    if keep_frozen:
        model.emb.weight.requires_grad_(False)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    loss = hits = n = 0
    for x, lengths, y in loader:
        logits = model(x.to(device), lengths)
        y = y.to(device)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        hits += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="train.jsonl")
    ap.add_argument("--dev", default="dev.jsonl")
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--clip", type=float, default=0.25)
    ap.add_argument("--max-len", type=int, default=300)
    ap.add_argument("--min-count", type=int, default=2)
    ap.add_argument("--freeze-embeddings", action="store_true")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_rows, dev_rows = read(args.train), read(args.dev)
    vocab = Vocab(train_rows, args.min_count, 50000)
    enc = lambda rows: [vocab.encode(r, args.max_len) for r in rows if r[1] in vocab.queues]
    train = DataLoader(enc(train_rows), args.batch, shuffle=True, collate_fn=collate)
    dev = DataLoader(enc(dev_rows), 2 * args.batch, collate_fn=collate)
    print(f"{len(vocab)} words, {len(vocab.queues)} queues, {len(train)} batches")

    model = BiLSTM(len(vocab), len(vocab.queues)).to(device)
    freeze_rows(model, args.freeze_embeddings)
    params = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.AdamW(params, lr=args.lr, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=args.epochs * len(train))

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, lengths, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(device), lengths), y.to(device), label_smoothing=0.05)
            loss.backward()
            nn.utils.clip_grad_norm_(params, args.clip)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        dev_loss, acc = evaluate(model, dev, device)
        print(f"epoch {epoch} train {total / len(train):.4f} dev {dev_loss:.4f} acc {acc:.4f}")
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "vocab": vocab.ids, "queues": vocab.queues}, "router.pt")


if __name__ == "__main__":
    main()
