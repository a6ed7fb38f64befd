#!/usr/bin/env python
# Character-level transformer LM on a generated "recipe" text.
import argparse
import math
import random
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--out-dir", type=str, required=True)
parser.add_argument("--max-iters", type=int, default=60)
parser.add_argument("--warmup-iters", type=int, default=10)
parser.add_argument("--eval-interval", type=int, default=20)
parser.add_argument("--eval-iters", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--grad-accum", type=int, default=4)
parser.add_argument("--block-size", type=int, default=48)
parser.add_argument("--n-embd", type=int, default=48)
parser.add_argument("--n-head", type=int, default=4)
parser.add_argument("--n-layer", type=int, default=2)
parser.add_argument("--learning-rate", type=float, default=3e-3)
parser.add_argument("--min-lr", type=float, default=3e-4)
parser.add_argument("--weight-decay", type=float, default=0.1)
parser.add_argument("--grad-clip", type=float, default=0.2)
parser.add_argument("--seed", type=int, default=1337)


def make_text(n=3000, seed=3):
    rng = random.Random(seed)
    verbs, amounts = ["mix", "fold", "heat", "chop", "add"], ["one cup", "two spoons", "a pinch"]
    things = ["sugar", "flour", "butter", "salt", "milk", "onion"]
    return " ".join(f"{rng.choice(verbs)} {rng.choice(amounts)} of {rng.choice(things)}." for _ in range(n // 8))


class Block(nn.Module):
    def __init__(self, d, n_head):
        super().__init__()
        self.n_head = n_head
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.n_head, d // self.n_head).permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, args):
        super().__init__()
        self.tok = nn.Embedding(vocab, args.n_embd)
        self.pos = nn.Embedding(args.block_size, args.n_embd)
        self.blocks = nn.Sequential(*[Block(args.n_embd, args.n_head) for _ in range(args.n_layer)])
        self.ln_f = nn.LayerNorm(args.n_embd)
        self.head = nn.Linear(args.n_embd, vocab, bias=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def get_lr(it, args):
    if it < args.warmup_iters:
        return args.learning_rate * (it + 1) / args.warmup_iters
    ratio = (it - args.warmup_iters) / max(1, args.max_iters - args.warmup_iters)
    return args.min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (args.learning_rate - args.min_lr)


def main(argv=None):
    args = parser.parse_args(argv)
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ctx = torch.autocast("cuda", dtype=torch.bfloat16) if device == "cuda" else nullcontext()

    text = make_text()
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    split = int(0.9 * len(data))
    splits = {"train": data[:split], "val": data[split:]}
    gen = {"train": torch.Generator().manual_seed(args.seed), "val": torch.Generator().manual_seed(args.seed + 1)}

    def get_batch(name):
        d = splits[name]
        ix = torch.randint(len(d) - args.block_size - 1, (args.batch_size,), generator=gen[name])
        x = torch.stack([d[i:i + args.block_size] for i in ix])
        y = torch.stack([d[i + 1:i + 1 + args.block_size] for i in ix])
        return x.to(device), y.to(device)

    model = CharLM(len(chars), args).to(device)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": args.weight_decay}, {"params": no_decay, "weight_decay": 0.0}],
        lr=args.learning_rate, betas=(0.9, 0.95))

    @torch.no_grad()
    def estimate_loss():
        model.eval()
        losses = [model(*get_batch("val"))[1].item() for _ in range(args.eval_iters)]
        model.train()
        return sum(losses) / len(losses)

    out_dir = Path(args.out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    best_val = float("inf")
    model.train()
    for it in range(args.max_iters):
        lr = get_lr(it, args)
        for group in optimizer.param_groups:
            group["lr"] = lr

        lossf = 0.0
        for micro_step in range(args.grad_accum):
            x, y = get_batch("train")
            with ctx:
                _, loss = model(x, y)
                loss = loss / args.grad_accum
            loss.backward()
            lossf += loss.item()
        if args.grad_clip > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        if (it + 1) % args.eval_interval == 0:
            val = estimate_loss()
            print(f"iter {it + 1}: train {lossf:.4f} val {val:.4f} lr {lr:.2e}")
            if val < best_val:
                best_val = val
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "iter": it, "args": vars(args)}, out_dir / "ckpt.pt")
    torch.save(model.state_dict(), out_dir / "final.pt")
    return model


if __name__ == "__main__":
    main()
