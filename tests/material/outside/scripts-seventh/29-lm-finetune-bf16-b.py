"""Supervised fine-tuning of a small causal LM on prompt/response jsonl.

    {"prompt": "...", "response": "..."}

    python lm_finetune_bf16.py --model gpt2 --train sft.jsonl

bf16 mixed precision: the forward pass runs under autocast, weights and optimizer state are
float32. Only the response tokens count in the loss.
"""
import argparse
import json
import math
import random

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer


def load_examples(path, tokenizer, max_len):
    out = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            p = tokenizer(row["prompt"])["input_ids"]
            r = tokenizer(row["response"])["input_ids"] + [tokenizer.eos_token_id]
            ids = (p + r)[:max_len]
            labels = ([-100] * len(p) + r)[:max_len]
            if any(v != -100 for v in labels[1:]):
                out.append((ids, labels))
    return out


def pad(batch, pad_id, device):
    n = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([i + [pad_id] * (n - len(i)) for i, _ in batch])
    labels = torch.tensor([l + [-100] * (n - len(l)) for _, l in batch])
    mask = torch.tensor([[1] * len(i) + [0] * (n - len(i)) for i, _ in batch])
    return ids.to(device), mask.to(device), labels.to(device)


def response_loss(model, batch, device, pad_id, reduction="mean"):
    ids, mask, labels = pad(batch, pad_id, device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        logits = model(input_ids=ids, attention_mask=mask).logits
    return F.cross_entropy(logits[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten(),
                           ignore_index=-100, reduction=reduction)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model", default="gpt2")
    ap.add_argument("--train", default="sft.jsonl")
    ap.add_argument("--max-len", type=int, default=512)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=1e-5)
    ap.add_argument("--warmup-ratio", type=float, default=0.03)
    ap.add_argument("--weight-decay", type=float, default=0.0)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--holdout", type=float, default=0.05)
    ap.add_argument("--log-every", type=int, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="sft-out")
    args = ap.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16).to(device)
    model.config.use_cache = False
    pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id

    examples = load_examples(args.train, tokenizer, args.max_len)
    random.shuffle(examples)
    k = max(1, int(args.holdout * len(examples)))
    held, train = examples[:k], examples[k:]
    per_epoch = len(train) // args.batch_size
    total = args.epochs * per_epoch
    warmup = max(1, int(args.warmup_ratio * total))

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: (s + 1) / warmup if s < warmup else
        0.1 + 0.45 * (1 + math.cos(math.pi * (s - warmup) / max(1, total - warmup))))

    print(f"{len(train)} examples, {total} steps")
    step = 0
    for epoch in range(args.epochs):
        model.train()
        random.shuffle(train)
        for b in range(per_epoch):
            batch = train[b * args.batch_size:(b + 1) * args.batch_size]
            loss = response_loss(model, batch, device, pad_id)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            if step % args.log_every == 0:
                print(f"step {step}/{total} loss {loss.item():.4f} norm {norm.item():.2f} "
                      f"lr {scheduler.get_last_lr()[0]:.2e}")
        model.eval()
        with torch.no_grad():
            nll = sum(response_loss(model, held[i:i + args.batch_size], device, pad_id, "sum").item()
                      for i in range(0, len(held), args.batch_size))
        n = sum(sum(v != -100 for v in l[1:]) for _, l in held)
        print(f"epoch {epoch} held-out nll {nll / n:.4f}")

    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)


if __name__ == "__main__":
    main()
