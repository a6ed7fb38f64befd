"""Fine-tune an encoder for text classification on jsonl files with "text" and "label" (int).

    python bert_classify.py --train_file train.jsonl --valid_file valid.jsonl

The learning rate warms up over the first 6% of the optimizer updates and goes linearly to zero
at the last one.
"""
import argparse
import json
import math
import os

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    get_linear_schedule_with_warmup,
    set_seed,
)


class JsonlDataset(Dataset):
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.rows = [json.loads(line) for line in f if line.strip()]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]["text"], int(self.rows[i]["label"])


def build_collate(tokenizer, max_length):
    def collate(items):
        texts, labels = zip(*items)
        batch = tokenizer(list(texts), padding=True, truncation=True, max_length=max_length, return_tensors="pt")
        batch["labels"] = torch.tensor(labels)
        return batch
    return collate


def grouped_parameters(model, weight_decay):
    no_decay = ("bias", "LayerNorm.weight", "layer_norm.weight")
    decay, rest = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (rest if any(nd in name for nd in no_decay) else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        logits = model(**batch).logits
        correct += (logits.argmax(-1) == batch["labels"]).sum().item()
        total += batch["labels"].numel()
    return correct / max(total, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name", default="bert-base-uncased")
    parser.add_argument("--train_file", default="train.jsonl")
    parser.add_argument("--valid_file", default="valid.jsonl")
    parser.add_argument("--output_dir", default="out")
    parser.add_argument("--num_labels", type=int, default=2)
    parser.add_argument("--max_length", type=int, default=128)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--learning_rate", type=float, default=3e-5)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--warmup_ratio", type=float, default=0.06)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()

    set_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    model = AutoModelForSequenceClassification.from_pretrained(args.model_name, num_labels=args.num_labels)
    model.to(device)

    collate = build_collate(tokenizer, args.max_length)
    train_loader = DataLoader(JsonlDataset(args.train_file), batch_size=args.batch_size,
                              shuffle=True, drop_last=True, collate_fn=collate)
    valid_loader = DataLoader(JsonlDataset(args.valid_file), batch_size=32, collate_fn=collate)

    accum = args.gradient_accumulation_steps
    optimizer = torch.optim.AdamW(grouped_parameters(model, args.weight_decay), lr=args.learning_rate)
    num_training_steps = args.epochs * math.ceil(len(train_loader) / accum)
    scheduler = get_linear_schedule_with_warmup(
        optimizer,
        num_warmup_steps=int(args.warmup_ratio * num_training_steps),
        num_training_steps=num_training_steps,
    )

    update = 0
    best = 0.0
    optimizer.zero_grad()
    for epoch in range(args.epochs):
        model.train()
        n_batches = len(train_loader)
        running = 0.0
        for i, batch in enumerate(train_loader):
            batch = {k: v.to(device) for k, v in batch.items()}
            # the last group of an epoch may be shorter
            group_start = (i // accum) * accum
            group_size = min(accum, n_batches - group_start)
            loss = model(**batch).loss
            (loss / group_size).backward()
            running += loss.item()
            if i - group_start + 1 == group_size:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                update += 1
                if update % 50 == 0:
                    print(f"update {update} loss {running / (i + 1):.4f} lr {scheduler.get_last_lr()[0]:.2e}")
        acc = evaluate(model, valid_loader, device)
        print(f"epoch {epoch} train loss {running / n_batches:.4f} valid acc {acc:.4f}")
        if acc >= best:
            best = acc
            os.makedirs(args.output_dir, exist_ok=True)
            model.save_pretrained(args.output_dir)
            tokenizer.save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()
