import argparse
import contextlib
import math
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class ByteGPT(nn.Module):
    def __init__(self, d=64, heads=4, layers=2, ctx=128):
        super().__init__()
        self.ctx = ctx
        self.tok, self.pos = nn.Embedding(256, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 256, bias=False)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos.weight[: idx.size(1)]
        for blk in self.blocks:
            x = blk(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def lr_at(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    frac = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * frac)))


parser = argparse.ArgumentParser()
parser.add_argument("--corpus", default="data/corpus.txt")
parser.add_argument("--steps", type=int, default=500)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--accum", type=int, default=4)
parser.add_argument("--ctx", type=int, default=64)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--warmup", type=int, default=50)
parser.add_argument("--eval-every", type=int, default=50)
args = parser.parse_args()

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
device = f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu"
if torch.cuda.is_available():
    torch.cuda.set_device(local_rank)
amp = (
    torch.autocast("cuda", dtype=torch.bfloat16) if torch.cuda.is_available() else contextlib.nullcontext()
)

raw = torch.tensor(list(open(args.corpus, "rb").read()))
split = int(0.9 * len(raw))
train_bytes, val_bytes = raw[:split], raw[split:]
gen = torch.Generator().manual_seed(1000 + rank)
torch.manual_seed(7)


def get_batch(data):
    at = torch.randint(len(data) - args.ctx - 1, (args.batch,), generator=gen)
    x = torch.stack([data[i : i + args.ctx] for i in at])
    y = torch.stack([data[i + 1 : i + 1 + args.ctx] for i in at])
    return x.to(device), y.to(device)


model = ByteGPT(ctx=args.ctx).to(device)
model = DistributedDataParallel(model, device_ids=[local_rank] if "cuda" in device else None)
decay = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=args.lr
)

for step in range(args.steps):
    for group in optimizer.param_groups:
        group["lr"] = lr_at(step, args)
    optimizer.zero_grad(set_to_none=True)
    for micro in range(args.accum):
        sync = micro == args.accum - 1
        x, y = get_batch(train_bytes)
        with contextlib.nullcontext() if sync else model.no_sync():
            with amp:
                loss = model.module(x, y)
            (loss / args.accum).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

    if step % args.eval_every == 0 or step == args.steps - 1:
        model.eval()
        with torch.no_grad(), amp:
            val = torch.stack([model.module(*get_batch(val_bytes)) for _ in range(4)]).mean()
        model.train()
        dist.all_reduce(val)
        if rank == 0:
            print(f"step {step} train {loss.item():.3f} val {val.item() / dist.get_world_size():.3f}")

if rank == 0:
    torch.save(model.module.state_dict(), "bytegpt.pt")
dist.destroy_process_group()
