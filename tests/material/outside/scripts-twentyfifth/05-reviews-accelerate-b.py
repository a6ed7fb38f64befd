import argparse
import json
from collections import Counter

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

PAD, UNK = 0, 1


def read_jsonl(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def build_vocab(rows, min_count=2):
    counts = Counter(w for r in rows for w in r["text"].split())
    words = sorted(w for w, c in counts.items() if c >= min_count)
    return {"<pad>": PAD, "<unk>": UNK, **{w: i + 2 for i, w in enumerate(words)}}


class Collator:
    def __init__(self, vocab, max_len):
        self.vocab, self.max_len = vocab, max_len

    def __call__(self, rows):
        ids = [[self.vocab.get(w, UNK) for w in r["text"].split()][: self.max_len] for r in rows]
        width = max(map(len, ids))
        input_ids = torch.tensor([s + [PAD] * (width - len(s)) for s in ids])
        labels = torch.tensor([int(r["label"] == "pos") for r in rows])
        return {"input_ids": input_ids, "attention_mask": input_ids != PAD, "labels": labels}


class ReviewClassifier(nn.Module):
    def __init__(self, vocab_size, dim=48, heads=4, max_len=64):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.1,
                                                  batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, 2)

    def forward(self, input_ids, attention_mask, labels=None):
        h = self.emb(input_ids) + self.pos.weight[: input_ids.size(1)]
        h = self.encoder(h, src_key_padding_mask=~attention_mask)
        m = attention_mask.unsqueeze(-1).float()
        pooled = (self.norm(h) * m).sum(1) / m.sum(1)
        logits = self.cls(pooled)
        out = {"logits": logits}
        if labels is not None:
            out["loss"] = nn.functional.cross_entropy(logits, labels)
        return out


def evaluate(accelerator, model, loader):
    model.eval()
    correct = total = 0
    for batch in loader:
        with torch.no_grad():
            pred = model(batch["input_ids"], batch["attention_mask"])["logits"].argmax(-1)
        pred, ref = accelerator.gather_for_metrics((pred, batch["labels"]))
        correct += (pred == ref).sum().item()
        total += ref.numel()
    return correct / total


def main():
    parser = argparse.ArgumentParser(description="sentiment fine-tuning with accelerate")
    parser.add_argument("--data", default="data/reviews.jsonl")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--per_device_batch", type=int, default=8)
    parser.add_argument("--grad_accum", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.grad_accum, cpu=True)
    set_seed(args.seed)

    rows = read_jsonl(args.data)
    train_rows = [r for r in rows if r["split"] == "train"]
    test_rows = [r for r in rows if r["split"] == "test"]
    vocab = build_vocab(train_rows)
    collate = Collator(vocab, max_len=48)
    train_loader = DataLoader(train_rows, batch_size=args.per_device_batch, shuffle=True,
                              collate_fn=collate, drop_last=True)
    test_loader = DataLoader(test_rows, batch_size=64, collate_fn=collate)

    model = ReviewClassifier(len(vocab))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)

    model, optimizer, train_loader, test_loader = accelerator.prepare(
        model, optimizer, train_loader, test_loader)

    updates = args.epochs * (len(train_loader) // args.grad_accum)
    scheduler = LambdaLR(optimizer, lambda s: min((s + 1) / args.warmup, max(0.0, 1 - s / updates)))
    scheduler = accelerator.prepare(scheduler)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for batch in train_loader:
            with accelerator.accumulate(model):
                out = model(**batch)
                loss = out["loss"] / args.grad_accum
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            total += out["loss"].item()
        acc = evaluate(accelerator, model, test_loader)
        accelerator.print(f"epoch {epoch} loss {total / len(train_loader):.4f} "
                          f"test_acc {acc:.4f} lr {scheduler.get_last_lr()[0]:.4f}")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save({"model": accelerator.unwrap_model(model).state_dict(), "vocab": vocab}, "reviews.pt")


if __name__ == "__main__":
    main()
