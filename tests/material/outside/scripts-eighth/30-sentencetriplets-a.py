"""Sentence embeddings from (anchor, positive) pairs with in-batch negatives and hard negatives.

The training file is a TSV with the columns anchor, positive, negative.
"""
import argparse
import logging
import time

import pandas as pd
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer, get_constant_schedule_with_warmup

logging.basicConfig(format="%(asctime)s - %(message)s", level=logging.INFO)
logger = logging.getLogger("embed")


class Encoder(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.bert = AutoModel.from_pretrained(name, dtype=torch.float32)

    def forward(self, **enc):
        h = self.bert(**enc).last_hidden_state
        m = enc["attention_mask"].unsqueeze(-1).to(h.dtype)
        return F.normalize((h * m).sum(1) / m.sum(1), dim=-1)


def make_collate(tokenizer, max_len):
    def collate(rows):
        texts = [t for col in zip(*rows) for t in col]
        return tokenizer(texts, padding=True, truncation=True, max_length=max_len, return_tensors="pt")
    return collate


def info_nce(emb, scale):
    a, p, n = emb.chunk(3)
    scores = scale * a @ torch.cat([p, n]).t()
    return F.cross_entropy(scores, torch.arange(len(a), device=emb.device))


@torch.no_grad()
def triplet_accuracy(model, loader, device):
    model.eval()
    good = total = 0
    for enc in loader:
        a, p, n = model(**enc.to(device)).chunk(3)
        good += ((a * p).sum(1) > (a * n).sum(1)).sum().item()
        total += len(a)
    model.train()
    return good / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train-tsv", required=True)
    ap.add_argument("--dev-tsv", required=True)
    ap.add_argument("--base", default="microsoft/MiniLM-L12-H384-uncased")
    ap.add_argument("--output", required=True)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--accum", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--lr", type=float, default=3e-5)
    ap.add_argument("--warmup", type=int, default=200)
    ap.add_argument("--scale", type=float, default=20.0)
    ap.add_argument("--max-len", type=int, default=96)
    ap.add_argument("--log-every", type=int, default=50)
    args = ap.parse_args()

    torch.manual_seed(12)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    model = Encoder(args.base).to(device)

    def rows(path):
        df = pd.read_csv(path, sep="\t", quoting=3).dropna()
        return list(df[["anchor", "positive", "negative"]].itertuples(index=False, name=None))

    collate = make_collate(tokenizer, args.max_len)
    train = DataLoader(rows(args.train_tsv), args.batch, shuffle=True, drop_last=True, collate_fn=collate)
    dev = DataLoader(rows(args.dev_tsv), args.batch, collate_fn=collate)

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = get_constant_schedule_with_warmup(optimizer, args.warmup)
    logger.info("%d triplets, %d updates per epoch", len(train.dataset), len(train) // args.accum)
    logger.info("before training: dev accuracy %.4f", triplet_accuracy(model, dev, device))

    updates, running, t0 = 0, 0.0, time.time()
    model.train()
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        for i, enc in enumerate(train, start=1):
            with torch.autocast(device.type, dtype=torch.bfloat16):
                emb = model(**enc.to(device))
            loss = info_nce(emb.float(), args.scale)
            (loss / args.accum).backward()
            running += loss.item() / args.accum
            if i % args.accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                updates += 1
                if updates % args.log_every == 0:
                    logger.info("epoch %d update %d loss %.4f lr %.2e (%.1f updates/s)", epoch, updates,
                                running / args.log_every, scheduler.get_last_lr()[0], updates / (time.time() - t0))
                    running = 0.0
        logger.info("epoch %d dev accuracy %.4f", epoch, triplet_accuracy(model, dev, device))

    model.bert.save_pretrained(args.output)
    tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()
