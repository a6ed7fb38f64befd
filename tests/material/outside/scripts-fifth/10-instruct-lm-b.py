"""Fine-tuning a small causal LM on prompt/response pairs (json lines).

Only response tokens carry a loss.  The objective of an update is the mean over all response tokens
of its effective batch (micro_batch x grad_accum examples), whatever their lengths.
"""
import argparse
import itertools
import json
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

logger = logging.getLogger(__name__)
PAD, BOS, SEP, EOS, OFFSET = 0, 1, 2, 3, 4
VOCAB = 256 + OFFSET


def encode(text):
    return [b + OFFSET for b in text.encode("utf-8")]


class Pairs(Dataset):
    def __init__(self, path, max_len):
        self.rows = []
        with open(path) as f:
            for line in f:
                r = json.loads(line)
                prompt = [BOS] + encode(r["prompt"]) + [SEP]
                ids = (prompt + encode(r["response"]) + [EOS])[:max_len]
                if len(ids) > len(prompt):
                    self.rows.append((ids, [-100] * len(prompt) + ids[len(prompt):]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    n = max(len(ids) for ids, _ in rows)
    ids = torch.full((len(rows), n), PAD)
    labels = torch.full((len(rows), n), -100)
    for i, (a, b) in enumerate(rows):
        ids[i, :len(a)] = torch.tensor(a)
        labels[i, :len(b)] = torch.tensor(b)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}


def build_model(layers, dim, heads, max_len):
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=max_len, n_embd=dim, n_layer=layers,
                                      n_head=heads, bos_token_id=BOS, eos_token_id=EOS))


def token_loss(model, batch, reduction):
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), batch["labels"][:, 1:].flatten(),
                           ignore_index=-100, reduction=reduction)


def windows(loader, size):
    it = iter(loader)
    while True:
        chunk = list(itertools.islice(it, size))
        if not chunk:
            return
        yield chunk


def train(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = Pairs(args.train_file, args.max_len)
    loader = DataLoader(data, args.micro_batch, shuffle=True, collate_fn=collate)
    model = build_model(args.layers, args.dim, args.heads, args.max_len).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    per_epoch = -(-len(loader) // args.grad_accum)
    sched = get_cosine_schedule_with_warmup(opt, args.warmup, per_epoch * args.epochs)
    step = 0
    for epoch in range(args.epochs):
        model.train()
        for chunk in windows(loader, args.grad_accum):
            opt.zero_grad()
            n_tokens = sum((b["labels"][:, 1:] != -100).sum().item() for b in chunk)
            shown = 0.0
            for batch in chunk:
                batch = {k: v.to(device) for k, v in batch.items()}
                loss = token_loss(model, batch, "mean") / len(chunk)
                loss.backward()
                shown += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            opt.step()
            sched.step()
            step += 1
            if step % args.log_every == 0:
                logger.info("epoch %d step %d loss %.4f tokens %d lr %.2e", epoch, step, shown, n_tokens,
                            sched.get_last_lr()[0])
    model.save_pretrained(args.output_dir)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    p = argparse.ArgumentParser()
    p.add_argument("--train-file", default="data/pairs.jsonl")
    p.add_argument("--output-dir", default="lm-out")
    p.add_argument("--max-len", type=int, default=256)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--micro-batch", type=int, default=2)
    p.add_argument("--grad-accum", type=int, default=16)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--warmup", type=int, default=50)
    p.add_argument("--max-grad-norm", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=0)
    train(p.parse_args())
