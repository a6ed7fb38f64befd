#!/usr/bin/env python
# Fine-tune a small seq2seq model on (article, summary) pairs stored as JSON lines.
import argparse
import json
import math
import os

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, get_linear_schedule_with_warmup


class JsonlSummaries(Dataset):
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.rows = [json.loads(line) for line in f if line.strip()]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, idx):
        return self.rows[idx]["article"], self.rows[idx]["summary"]


class Collator:
    def __init__(self, tokenizer, max_src, max_tgt):
        self.tok, self.max_src, self.max_tgt = tokenizer, max_src, max_tgt

    def __call__(self, batch):
        src, tgt = zip(*batch)
        enc = self.tok(list(src), padding=True, truncation=True, max_length=self.max_src, return_tensors="pt")
        lab = self.tok(text_target=list(tgt), padding=True, truncation=True, max_length=self.max_tgt,
                       return_tensors="pt")
        labels = lab["input_ids"].masked_fill(lab["attention_mask"] == 0, -100)
        return {**enc, "labels": labels}


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    nll, tokens = 0.0, 0
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        n = (batch["labels"] != -100).sum().item()
        nll += model(**batch).loss.item() * n
        tokens += n
    model.train()
    return math.exp(nll / tokens)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="google/flan-t5-small")
    p.add_argument("--train", required=True)
    p.add_argument("--dev", required=True)
    p.add_argument("--output", required=True)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--bs", type=int, default=8)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--weight_decay", type=float, default=0.01)
    p.add_argument("--warmup_ratio", type=float, default=0.06)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--max_src", type=int, default=512)
    p.add_argument("--max_tgt", type=int, default=96)
    p.add_argument("--eval_steps", type=int, default=500)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(13)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSeq2SeqLM.from_pretrained(args.model).to(device)

    collate = Collator(tokenizer, args.max_src, args.max_tgt)
    train = DataLoader(JsonlSummaries(args.train), batch_size=args.bs, shuffle=True, collate_fn=collate)
    dev = DataLoader(JsonlSummaries(args.dev), batch_size=2 * args.bs, collate_fn=collate)

    no_decay = ("bias", "layer_norm.weight", "LayerNorm.weight")
    groups = [
        {"params": [p for n, p in model.named_parameters() if not n.endswith(no_decay)],
         "weight_decay": args.weight_decay},
        {"params": [p for n, p in model.named_parameters() if n.endswith(no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.lr)
    total = args.epochs * len(train)
    scheduler = get_linear_schedule_with_warmup(optimizer, int(args.warmup_ratio * total), total)

    best, step = float("inf"), 0
    model.train()
    for epoch in range(args.epochs):
        for batch in train:
            batch = {k: v.to(device) for k, v in batch.items()}
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % 50 == 0:
                print(f"epoch {epoch} step {step}/{total} loss {loss.item():.3f} lr {scheduler.get_last_lr()[0]:.2e}")
            if step % args.eval_steps == 0 or step == total:
                ppl = evaluate(model, dev, device)
                print(f"step {step} dev ppl {ppl:.3f}")
                if ppl < best:
                    best = ppl
                    os.makedirs(args.output, exist_ok=True)
                    model.save_pretrained(args.output)
                    tokenizer.save_pretrained(args.output)
        scheduler.step()


if __name__ == "__main__":
    main()
