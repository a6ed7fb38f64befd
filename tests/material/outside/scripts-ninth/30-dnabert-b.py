"""Promoter classification from DNA with a small BERT (HF transformers).

CSV columns: sequence,label.   python dna.py --train train.csv --valid valid.csv
"""
import argparse
import itertools
import logging
import os

import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup, set_seed

log = logging.getLogger(__name__)
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]


class KmerTokenizer:
    def __init__(self, k):
        self.k = k
        self.vocab = {t: i for i, t in enumerate(SPECIAL + ["".join(p) for p in itertools.product("ACGT", repeat=k)])}

    def __len__(self):
        return len(self.vocab)

    def __call__(self, seq, max_len):
        seq = seq.upper()
        kmers = [self.vocab.get(seq[i:i + self.k], 3) for i in range(0, len(seq) - self.k + 1)]
        return [1] + kmers[:max_len - 2] + [2]


class Promoters(Dataset):
    def __init__(self, csv, tok, max_len):
        df = pd.read_csv(csv)
        self.ids = [tok(s, max_len) for s in df["sequence"]]
        self.y = df["label"].astype(int).tolist()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.ids[i], self.y[i]


def collate(items):
    n = max(len(ids) for ids, _ in items)
    ids = torch.zeros(len(items), n, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for r, (t, _) in enumerate(items):
        ids[r, :len(t)] = torch.tensor(t)
        mask[r, :len(t)] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([y for _, y in items])}


def evaluate(model, loader, device):
    model.eval()
    loss = correct = n = 0
    with torch.no_grad():
        for batch in loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            out = model(**batch)
            b = batch["labels"].numel()
            loss += out.loss.item() * b
            correct += (out.logits.argmax(-1) == batch["labels"]).sum().item()
            n += b
    model.train()
    return loss / n, correct / n


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--train", required=True)
    p.add_argument("--valid", required=True)
    p.add_argument("--output_dir", default="dna_bert")
    p.add_argument("--k", type=int, default=4)
    p.add_argument("--max_len", type=int, default=256)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--per_device_batch_size", type=int, default=16)
    p.add_argument("--gradient_accumulation_steps", type=int, default=8)
    p.add_argument("--num_train_epochs", type=int, default=10)
    p.add_argument("--learning_rate", type=float, default=3e-4)
    p.add_argument("--weight_decay", type=float, default=0.01)
    p.add_argument("--warmup_ratio", type=float, default=0.1)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--logging_steps", type=int, default=10)
    p.add_argument("--seed", type=int, default=42)
    return p.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    set_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tok = KmerTokenizer(args.k)
    train_loader = DataLoader(Promoters(args.train, tok, args.max_len), args.per_device_batch_size, shuffle=True,
                              collate_fn=collate, drop_last=True)
    valid_loader = DataLoader(Promoters(args.valid, tok, args.max_len), 64, collate_fn=collate)

    model = BertForSequenceClassification(BertConfig(
        vocab_size=len(tok), hidden_size=args.hidden, num_hidden_layers=args.layers, num_attention_heads=args.heads,
        intermediate_size=4 * args.hidden, max_position_embeddings=args.max_len, num_labels=2)).to(device)

    no_decay = ("bias", "LayerNorm.weight")
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW([
        {"params": [p for n, p in named if not n.endswith(no_decay)], "weight_decay": args.weight_decay},
        {"params": [p for n, p in named if n.endswith(no_decay)], "weight_decay": 0.0},
    ], lr=args.learning_rate)

    accum = args.gradient_accumulation_steps
    updates_per_epoch = len(train_loader) // accum
    if updates_per_epoch == 0:
        raise ValueError("fewer batches than gradient_accumulation_steps")
    max_steps = len(train_loader) * args.num_train_epochs
    scheduler = get_linear_schedule_with_warmup(optimizer, int(args.warmup_ratio * max_steps), max_steps)

    global_step, running, best = 0, 0.0, 0.0
    model.train()
    for epoch in range(args.num_train_epochs):
        batches = itertools.islice(train_loader, updates_per_epoch * accum)
        for i, batch in enumerate(batches, start=1):
            batch = {k: v.to(device) for k, v in batch.items()}
            loss = model(**batch).loss / accum
            loss.backward()
            running += loss.item()
            if i % accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                global_step += 1
                if global_step % args.logging_steps == 0:
                    log.info("epoch %d update %d loss %.4f lr %.2e", epoch, global_step,
                             running / args.logging_steps, scheduler.get_last_lr()[0])
                    running = 0.0
        v, acc = evaluate(model, valid_loader, device)
        log.info("epoch %d valid loss %.4f acc %.4f", epoch, v, acc)
        if acc > best:
            best = acc
            os.makedirs(args.output_dir, exist_ok=True)
            model.save_pretrained(args.output_dir)
    log.info("finished after %d updates, best acc %.4f", global_step, best)


if __name__ == "__main__":
    main()
