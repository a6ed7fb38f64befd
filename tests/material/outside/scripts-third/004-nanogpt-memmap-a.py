"""
Small GPT pretraining from token binaries, single GPU or CPU.
$ python train.py
"""
import math
import os
import time
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.nn import functional as F

# -----------------------------------------------------------------------------
out_dir = 'out'
eval_interval = 250
log_interval = 10
data_dir = 'data/openwebtext'
gradient_accumulation_steps = 8
batch_size = 12
block_size = 256
n_layer, n_head, n_embd = 6, 6, 384
learning_rate = 6e-4
max_iters = 20000
weight_decay = 1e-1
beta1, beta2 = 0.9, 0.95
grad_clip = 1.0
warmup_iters, lr_decay_iters, min_lr = 500, 20000, 6e-5
device = 'cuda' if torch.cuda.is_available() else 'cpu'
dtype = 'float16' if device == 'cuda' else 'float32'
# -----------------------------------------------------------------------------


@dataclass
class GPTConfig:
    block_size: int
    vocab_size: int = 50304
    n_layer: int = n_layer
    n_head: int = n_head
    n_embd: int = n_embd


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.qkv = nn.Linear(c.n_embd, 3 * c.n_embd)
        self.proj = nn.Linear(c.n_embd, c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))
        self.nh = c.n_head

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.nh, C // self.nh).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        self.wpe = nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList(Block(c) for _ in range(c.n_layer))
        self.lnf = nn.LayerNorm(c.n_embd)
        self.head = nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.wte.weight = self.head.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for b in self.h:
            x = b(x)
        logits = self.head(self.lnf(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    def configure_optimizers(self, wd, lr, betas):
        params = [p for p in self.parameters() if p.requires_grad]
        decay = [p for p in params if p.dim() >= 2]
        nodecay = [p for p in params if p.dim() < 2]
        return torch.optim.AdamW([{'params': decay, 'weight_decay': wd},
                                  {'params': nodecay, 'weight_decay': 0.0}], lr=lr, betas=betas)


def get_batch(split):
    data = np.memmap(os.path.join(data_dir, f'{split}.bin'), dtype=np.uint16, mode='r')
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([torch.from_numpy(data[i:i + block_size].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + block_size].astype(np.int64)) for i in ix])
    return x.to(device), y.to(device)


@torch.no_grad()
def estimate_loss(model, iters=50):
    model.eval()
    out = {s: torch.stack([model(*get_batch(s))[1] for _ in range(iters)]).mean().item() for s in ('train', 'val')}
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    if it > lr_decay_iters:
        return min_lr
    r = (it - warmup_iters) / (lr_decay_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * r)) * (learning_rate - min_lr)


os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337)
ctx = torch.amp.autocast('cuda', dtype=torch.float16) if device == 'cuda' else nullcontext()
model = GPT(GPTConfig(block_size)).to(device)
optimizer = model.configure_optimizers(weight_decay, learning_rate, (beta1, beta2))
scaler = torch.amp.GradScaler(device, enabled=(dtype == 'float16'))

X, Y = get_batch('train')
t0 = time.time()
best = 1e9
for it in range(max_iters):
    lr = get_lr(it)
    for g in optimizer.param_groups:
        g['lr'] = lr

    if it % eval_interval == 0:
        losses = estimate_loss(model)
        print(f"step {it}: train {losses['train']:.4f} val {losses['val']:.4f}")
        if losses['val'] < best and it > 0:
            best = losses['val']
            torch.save({'model': model.state_dict(), 'opt': optimizer.state_dict(), 'it': it}, f'{out_dir}/ckpt.pt')

    for micro_step in range(gradient_accumulation_steps):
        with ctx:
            logits, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        X, Y = get_batch('train')
        scaler.scale(loss).backward()
    if grad_clip != 0.0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)

    if it % log_interval == 0:
        dt, t0 = time.time() - t0, time.time()
        print(f"iter {it}: loss {loss.item() * gradient_accumulation_steps:.4f}, {dt * 1000:.0f}ms")
