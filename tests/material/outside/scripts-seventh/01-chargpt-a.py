"""
Character-level GPT, trained on one text file.

Single process:
    python chargpt.py --data data/input.txt
Several GPUs:
    torchrun --standalone --nproc_per_node=4 chargpt.py --data data/input.txt

The effective batch is batch_size * grad_accum sequences, whatever the number of
processes: grad_accum is shared out between the ranks.
Warmup is linear, then the rate follows a cosine down to min_lr.
Matrices get weight decay, biases and norms do not; both follow the same schedule.
"""
import argparse
import math
import os
import time
from contextlib import nullcontext

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP


class Block(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.n_head = n_head
        self.ln_1 = nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd, bias=False)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln_1(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        x = x + self.drop(self.proj(y))
        return x + self.drop(self.mlp(self.ln_2(x)))


class GPT(nn.Module):
    def __init__(self, vocab, block_size, n_layer, n_head, n_embd, dropout):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.blocks = nn.ModuleList(Block(n_embd, n_head, dropout) for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        self.apply(self._init)
        self.wte.weight = self.lm_head.weight  # tied

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(idx.size(1), device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        for b in self.blocks:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    def configure_optimizers(self, weight_decay, lr, betas):
        params = [p for p in self.parameters() if p.requires_grad]
        decay = [p for p in params if p.dim() >= 2]
        nodecay = [p for p in params if p.dim() < 2]
        groups = [
            {"params": decay, "weight_decay": weight_decay},
            {"params": nodecay, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=betas)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/input.txt")
    p.add_argument("--out", default="ckpt.pt")
    p.add_argument("--block_size", type=int, default=128)
    p.add_argument("--batch_size", type=int, default=16)
    p.add_argument("--grad_accum", type=int, default=4)
    p.add_argument("--n_layer", type=int, default=4)
    p.add_argument("--n_head", type=int, default=4)
    p.add_argument("--n_embd", type=int, default=128)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--min_lr", type=float, default=1e-4)
    p.add_argument("--warmup_iters", type=int, default=100)
    p.add_argument("--max_iters", type=int, default=3000)
    p.add_argument("--weight_decay", type=float, default=0.1)
    p.add_argument("--grad_clip", type=float, default=1.0)
    p.add_argument("--eval_interval", type=int, default=250)
    p.add_argument("--eval_iters", type=int, default=50)
    return p.parse_args()


def main():
    args = parse()
    ddp = int(os.environ.get("RANK", -1)) != -1
    if ddp:
        init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
        world = int(os.environ["WORLD_SIZE"])
        assert args.grad_accum % world == 0
        args.grad_accum //= world
    else:
        rank, local_rank, world = 0, 0, 1
    device = f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu"
    if "cuda" in device:
        torch.cuda.set_device(device)
    torch.manual_seed(1337 + rank)
    rng = np.random.default_rng(1337 + rank)

    text = open(args.data, encoding="utf-8").read()
    stoi = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([stoi[c] for c in text], dtype=torch.long)
    cut = int(0.9 * len(ids))
    splits = {"train": ids[:cut], "val": ids[cut:]}

    def get_batch(split):
        d = splits[split]
        ix = rng.integers(0, len(d) - args.block_size - 1, size=args.batch_size)
        x = torch.stack([d[i:i + args.block_size] for i in ix])
        y = torch.stack([d[i + 1:i + 1 + args.block_size] for i in ix])
        return x.to(device), y.to(device)

    raw_model = GPT(len(stoi), args.block_size, args.n_layer, args.n_head, args.n_embd, args.dropout).to(device)
    optimizer = raw_model.configure_optimizers(args.weight_decay, args.lr, (0.9, 0.95))
    model = DDP(raw_model, device_ids=[local_rank] if "cuda" in device else None) if ddp else raw_model
    ctx = torch.autocast("cuda", dtype=torch.bfloat16) if "cuda" in device else nullcontext()

    def get_lr(it):
        if it < args.warmup_iters:
            return args.lr * (it + 1) / (args.warmup_iters + 1)
        if it >= args.max_iters:
            return args.min_lr
        ratio = (it - args.warmup_iters) / (args.max_iters - args.warmup_iters)
        return args.min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (args.lr - args.min_lr)

    @torch.no_grad()
    def estimate_loss():
        raw_model.eval()
        out = {}
        for split in splits:
            losses = torch.zeros(args.eval_iters)
            for k in range(args.eval_iters):
                with ctx:
                    losses[k] = raw_model(*get_batch(split))[1].item()
            out[split] = losses.mean().item()
        raw_model.train()
        return out

    t0 = time.time()
    for it in range(args.max_iters):
        lr = get_lr(it)
        optimizer.param_groups[0]["lr"] = lr

        if it % args.eval_interval == 0 and rank == 0:
            e = estimate_loss()
            print(f"iter {it} lr {lr:.2e} train {e['train']:.4f} val {e['val']:.4f} ({time.time() - t0:.0f}s)")
            torch.save({"model": raw_model.state_dict(), "args": vars(args), "iter": it}, args.out)

        for micro in range(args.grad_accum):
            if ddp:
                # reduce only on the last micro batch
                model.require_backward_grad_sync = micro == args.grad_accum - 1
            x, y = get_batch("train")
            with ctx:
                _, loss = model(x, y)
                loss = loss / args.grad_accum
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    if ddp:
        destroy_process_group()


if __name__ == "__main__":
    main()
