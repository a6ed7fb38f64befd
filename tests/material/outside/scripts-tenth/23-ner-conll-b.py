"""Named entity tagging on a CoNLL file (token and tag per line, blank line between sentences)."""
import argparse
import collections

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import get_linear_schedule_with_warmup


def read_conll(path):
    sents, cur = [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            parts = line.split()
            if not parts:
                if cur:
                    sents.append(cur)
                cur = []
            elif not line.startswith("-DOCSTART-"):
                cur.append((parts[0], parts[-1]))
    if cur:
        sents.append(cur)
    return sents


def shape(word):
    return int(word[:1].isupper()) + 2 * int(word.isupper()) + 4 * int(any(c.isdigit() for c in word))


class Encoder:
    def __init__(self, sents, min_count=2):
        words = collections.Counter(w.lower() for s in sents for w, _ in s)
        self.words = {w: i + 2 for i, w in enumerate(w for w, c in words.items() if c >= min_count)}
        self.tags = sorted({t for s in sents for _, t in s})
        self.tag_id = {t: i for i, t in enumerate(self.tags)}

    def __call__(self, sent):
        ids = torch.tensor([self.words.get(w.lower(), 1) for w, _ in sent])
        shp = torch.tensor([shape(w) + 1 for w, _ in sent])
        tag = torch.tensor([self.tag_id.get(t, self.tag_id.get("O", 0)) for _, t in sent])
        return ids, shp, tag


def collate(batch):
    ids, shp, tag = zip(*batch)
    return pad_sequence(ids, True), pad_sequence(shp, True), pad_sequence(tag, True, -100)


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, dim=192, heads=4, layers=4, dropout=0.2, max_len=512):
        super().__init__()
        self.word = nn.Embedding(n_words, dim, padding_idx=0)
        self.shape = nn.Embedding(9, dim, padding_idx=0)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(dim, n_tags)

    def forward(self, ids, shp):
        pos = torch.arange(ids.size(1), device=ids.device)
        x = self.drop(self.word(ids) + self.shape(shp) + self.pos(pos))
        x = self.enc(x, src_key_padding_mask=ids == 0)
        return self.out(self.norm(x))


@torch.no_grad()
def entity_f1(model, loader, outside, device):
    model.eval()
    tp = fp = fn = 0
    for ids, shp, tag in loader:
        pred = model(ids.to(device), shp.to(device)).argmax(-1).cpu()
        real = tag != -100
        p, t = pred[real], tag[real]
        tp += ((p == t) & (t != outside)).sum().item()
        fp += ((p != t) & (p != outside)).sum().item()
        fn += ((p != t) & (t != outside)).sum().item()
    return 2 * tp / max(1, 2 * tp + fp + fn)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="train.conll")
    ap.add_argument("--dev", default="dev.conll")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--warmup-ratio", type=float, default=0.06)
    ap.add_argument("--dim", type=int, default=192)
    ap.add_argument("--layers", type=int, default=4)
    ap.add_argument("--min-count", type=int, default=2)
    args = ap.parse_args()

    torch.manual_seed(13)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_sents, dev_sents = read_conll(args.train), read_conll(args.dev)
    enc = Encoder(train_sents, args.min_count)
    train = DataLoader([enc(s[:512]) for s in train_sents], args.batch, shuffle=True, drop_last=True, collate_fn=collate)
    dev = DataLoader([enc(s[:512]) for s in dev_sents], 32, collate_fn=collate)
    outside = enc.tag_id.get("O", -1)

    model = Tagger(len(enc.words) + 2, len(enc.tags), args.dim, layers=args.layers).to(device)
    no_decay = [p for n, p in model.named_parameters() if p.dim() < 2]
    decay = [p for n, p in model.named_parameters() if p.dim() >= 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                                   {"params": no_decay, "weight_decay": 0.0}], lr=args.lr)
    updates_per_epoch = len(train) // args.accum
    total = updates_per_epoch * args.epochs
    scheduler = get_linear_schedule_with_warmup(optimizer, int(args.warmup_ratio * total), total)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for step, (ids, shp, tag) in enumerate(train, start=1):
            if step > updates_per_epoch * args.accum:
                break
            logits = model(ids.to(device), shp.to(device))
            loss = F.cross_entropy(logits.flatten(0, 1), tag.to(device).flatten(), ignore_index=-100)
            (loss / args.accum).backward()
            running += loss.item()
            if step % args.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            scheduler.step()
        f1 = entity_f1(model, dev, outside, device)
        lr = scheduler.get_last_lr()[0]
        print(f"epoch {epoch} loss {running / max(1, updates_per_epoch * args.accum):.4f} f1 {f1:.4f} lr {lr:.2e}")
        if f1 > best:
            best = f1
            torch.save({"model": model.state_dict(), "words": enc.words, "tags": enc.tags}, "ner.pt")


if __name__ == "__main__":
    main()
