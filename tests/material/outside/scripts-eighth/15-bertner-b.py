"""Token classification with a BERT encoder on CoNLL formatted files.

Each line: "token ... tag", sentences separated by blank lines.
"""
import argparse
import json
import os
import random

import numpy as np
import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer, get_linear_schedule_with_warmup


def read_conll(path):
    sents, words, tags = [], [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if not line or line.startswith("-DOCSTART-"):
                if words:
                    sents.append((words, tags))
                words, tags = [], []
                continue
            parts = line.split()
            words.append(parts[0])
            tags.append(parts[-1])
    if words:
        sents.append((words, tags))
    return sents


class NERDataset(Dataset):
    def __init__(self, sents, tokenizer, tag2id, max_len):
        self.features = []
        for words, tags in sents:
            enc = tokenizer(words, is_split_into_words=True, truncation=True, max_length=max_len)
            labels, prev = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == prev else tag2id.get(tags[w], tag2id["O"]))
                prev = w
            self.features.append((enc["input_ids"], labels))

    def __len__(self):
        return len(self.features)

    def __getitem__(self, i):
        return self.features[i]


def make_collate(pad_id):
    def collate(batch):
        m = max(len(ids) for ids, _ in batch)
        ids = torch.tensor([a + [pad_id] * (m - len(a)) for a, _ in batch])
        labels = torch.tensor([b + [-100] * (m - len(b)) for _, b in batch])
        mask = torch.tensor([[1] * len(a) + [0] * (m - len(a)) for a, _ in batch])
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return collate


def evaluate(model, loader, device, o_id):
    model.eval()
    tp = fp = fn = 0
    with torch.no_grad():
        for batch in loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            pred = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.argmax(-1)
            gold = batch["labels"]
            keep = gold != -100
            p, g = pred[keep], gold[keep]
            tp += ((p == g) & (g != o_id)).sum().item()
            fp += ((p != g) & (p != o_id)).sum().item()
            fn += ((p != g) & (g != o_id)).sum().item()
    return 2 * tp / max(1, 2 * tp + fp + fn)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data_dir", required=True)
    ap.add_argument("--model", default="bert-base-cased")
    ap.add_argument("--output_dir", required=True)
    ap.add_argument("--batch_size", type=int, default=8)
    ap.add_argument("--gradient_accumulation_steps", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-5)
    ap.add_argument("--max_len", type=int, default=192)
    ap.add_argument("--seed", type=int, default=42)
    args = ap.parse_args()

    random.seed(args.seed); np.random.seed(args.seed); torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_s = read_conll(os.path.join(args.data_dir, "train.txt"))
    dev_s = read_conll(os.path.join(args.data_dir, "valid.txt"))
    tags = sorted({t for _, ts in train_s for t in ts} | {"O"})
    tag2id = {t: i for i, t in enumerate(tags)}

    tok = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForTokenClassification.from_pretrained(args.model, num_labels=len(tags)).to(device)
    collate = make_collate(tok.pad_token_id)
    train = DataLoader(NERDataset(train_s, tok, tag2id, args.max_len), args.batch_size, shuffle=True,
                       collate_fn=collate, drop_last=True)
    dev = DataLoader(NERDataset(dev_s, tok, tag2id, args.max_len), 32, collate_fn=collate)

    accum = args.gradient_accumulation_steps
    updates = args.epochs * (len(train) // accum)
    optimizer = AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(optimizer, int(0.1 * updates), updates)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        window, seen = [], 0
        for batch in train:
            window.append(batch)
            if len(window) < accum:
                continue
            n_labels = sum((b["labels"] != -100).sum() for b in window).item()
            for b in window:
                b = {k: v.to(device) for k, v in b.items()}
                logits = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"]).logits
                loss = torch.nn.functional.cross_entropy(
                    logits.flatten(0, 1), b["labels"].flatten(), ignore_index=-100, reduction="sum")
                (loss / n_labels).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            window = []
            seen += 1
            if seen % 50 == 0:
                print(f"epoch {epoch} update {seen} lr {scheduler.get_last_lr()[0]:.2e}")
        f1 = evaluate(model, dev, device, tag2id["O"])
        print(f"epoch {epoch} token F1 {f1:.4f}")
        if f1 > best:
            best = f1
            model.save_pretrained(args.output_dir)
            tok.save_pretrained(args.output_dir)
            json.dump(tag2id, open(os.path.join(args.output_dir, "tag2id.json"), "w"))


if __name__ == "__main__":
    main()
