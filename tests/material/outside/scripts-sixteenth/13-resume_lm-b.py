"""Word-level language model with checkpoint and resume.

    python 13-resume_lm.py --resume data/lm_step60.pt
"""
import argparse
import math
import os
import re

import torch
from torch import nn
import torch.nn.functional as F


def tokens(path):
    words = re.findall(r"[a-z]+|\.", open(path).read())
    vocab = {w: i for i, w in enumerate(sorted(set(words)))}
    return torch.tensor([vocab[w] for w in words]), vocab


class SmallTransformer(nn.Module):
    def __init__(self, vocab, ctx=16, dim=32, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.zeros(ctx, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(ctx))

    def forward(self, ids):
        t = ids.size(1)
        h = self.tok(ids) + self.pos[:t]
        return self.head(self.blocks(h, mask=self.mask[:t, :t], is_causal=True))


def lr_lambda(warmup, total):
    def f(step):
        if step < warmup:
            return (step + 1) / warmup
        p = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, p)))
    return f


def save(path, step, model, optimizer, scheduler):
    tmp = path + ".tmp"
    torch.save({"step": step,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict()}, tmp)
    os.replace(tmp, path)


def load(path, model, optimizer, scheduler):
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    for group in optimizer.param_groups:
        group["lr"] = scheduler.get_last_lr()[0]
    return ckpt["step"]


def get_batch(data, ctx, bs):
    ix = torch.randint(len(data) - ctx - 1, (bs,)).tolist()
    return (torch.stack([data[i:i + ctx] for i in ix]),
            torch.stack([data[i + 1:i + 1 + ctx] for i in ix]))


@torch.no_grad()
def val_loss(model, data, ctx, n=10):
    model.eval()
    out = []
    for _ in range(n):
        x, y = get_batch(data, ctx, 32)
        out.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(out) / len(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--text", default="data/corpus.txt")
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--warmup", type=int, default=20)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--ctx", type=int, default=16)
    ap.add_argument("--resume")
    ap.add_argument("--save")
    ap.add_argument("--save-at", type=int, default=-1)
    args = ap.parse_args()

    data, vocab = tokens(args.text)
    cut = int(0.9 * len(data))
    model = SmallTransformer(len(vocab), args.ctx)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda(args.warmup, args.steps))
    step = 0
    if args.resume:
        step = load(args.resume, model, optimizer, scheduler)
        print(f"resumed at step {step}")

    model.train()
    while step < args.steps:
        x, y = get_batch(data[:cut], args.ctx, 16)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        step += 1
        if step % 15 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} val {val_loss(model, data[cut:], args.ctx):.4f} "
                  f"lr {scheduler.get_last_lr()[0]:.2e}")
        if args.save and step == args.save_at:
            save(args.save, step, model, optimizer, scheduler)


if __name__ == "__main__":
    main()
