"""GPT pre-training on a uint16 token file.  torchrun --nproc_per_node=8 train.py --tokens train.npy --val val.npy"""
import argparse
import contextlib
import math
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class TokenChunks(Dataset):
    def __init__(self, path, block):
        self.tokens = np.load(path, mmap_mode="r")
        self.block = block

    def __len__(self):
        return (len(self.tokens) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        chunk = torch.from_numpy(self.tokens[s:s + self.block + 1].astype(np.int64))
        return chunk[:-1], chunk[1:]


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, block, d, h, n):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(block, d)
        self.blocks = nn.Sequential(*[Block(d, h) for _ in range(n)])
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)
        self.apply(self._init)
        self.head.weight = self.tok.weight

    @staticmethod
    def _init(m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, x, y):
        h = self.tok(x) + self.pos(torch.arange(x.size(1), device=x.device))
        logits = self.head(self.ln(self.blocks(h)))
        return F.cross_entropy(logits.float().flatten(0, 1), y.flatten())


def lr_at(step, total, warmup, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    t = (step - warmup) / max(1, total - warmup)
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * t)))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    acc = torch.zeros(2, device=device)
    for x, y in loader:
        acc[0] += model(x.to(device), y.to(device)) * len(x)
        acc[1] += len(x)
    dist.all_reduce(acc)
    model.train()
    return (acc[0] / acc[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tokens", required=True)
    ap.add_argument("--val", required=True)
    ap.add_argument("--vocab", type=int, default=50304)
    ap.add_argument("--block", type=int, default=512)
    ap.add_argument("--dim", type=int, default=512)
    ap.add_argument("--heads", type=int, default=8)
    ap.add_argument("--layers", type=int, default=8)
    ap.add_argument("--micro-batch", type=int, default=8)
    ap.add_argument("--accum", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=6e-4)
    ap.add_argument("--warmup", type=int, default=200)
    ap.add_argument("--out", default="gpt.pt")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    torch.manual_seed(1234)

    train_ds, val_ds = TokenChunks(args.tokens, args.block), TokenChunks(args.val, args.block)
    sampler = DistributedSampler(train_ds, shuffle=True, drop_last=True)
    loader = DataLoader(train_ds, args.micro_batch, sampler=sampler, drop_last=True, pin_memory=cuda)
    val_loader = DataLoader(val_ds, args.micro_batch, sampler=DistributedSampler(val_ds, shuffle=False))

    net = GPT(args.vocab, args.block, args.dim, args.heads, args.layers).to(device)
    model = DDP(net, device_ids=[local] if cuda else None)
    decay = [p for p in net.parameters() if p.dim() >= 2]
    plain = [p for p in net.parameters() if p.dim() < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
                            lr=args.lr, betas=(0.9, 0.95))
    n_batches = len(loader)
    tail = n_batches % args.accum
    total_steps = args.epochs * math.ceil(n_batches / args.accum)

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        window_loss = 0.0
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            step_now = (i + 1) % args.accum == 0 or i + 1 == n_batches
            window = tail if i >= n_batches - tail else args.accum
            sync = contextlib.nullcontext() if step_now else model.no_sync()
            with sync:
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=cuda):
                    loss = model(x, y) / window
                loss.backward()
            window_loss += loss.item()
            if step_now:
                for g in opt.param_groups:
                    g["lr"] = lr_at(step, total_steps, args.warmup, args.lr)
                norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad(set_to_none=True)
                step += 1
                if rank == 0 and step % 10 == 0:
                    print(f"step {step}/{total_steps} loss {window_loss:.4f} norm {norm:.2f}", flush=True)
                window_loss = 0.0
        val = evaluate(model, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch} val {val:.4f} ppl {math.exp(min(val, 20)):.2f}", flush=True)
            torch.save({"model": net.state_dict(), "step": step, "args": vars(args)}, args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
