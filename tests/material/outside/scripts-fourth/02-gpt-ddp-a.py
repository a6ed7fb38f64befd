# minimal GPT pretraining, single node or torchrun
#   python train.py
#   torchrun --standalone --nproc_per_node=4 train.py
import math
import os
import time
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

# -----------------------------------------------------------------------------
out_dir = os.environ.get('OUT_DIR', 'out')
data_dir = os.environ.get('DATA_DIR', 'data/openwebtext')
eval_interval = 500
eval_iters = 50
log_interval = 10
gradient_accumulation_steps = 8  # global, is divided by the number of processes
batch_size = 12
block_size = 256
max_iters = int(os.environ.get('MAX_ITERS', 20000))
learning_rate = 6e-4
min_lr = 6e-5
warmup_iters = 400
weight_decay = 1e-1
grad_clip = 1.0
# -----------------------------------------------------------------------------


@dataclass
class GPTConfig:
    vocab_size: int = 50304
    n_layer: int = 6
    n_head: int = 6
    n_embd: int = 384
    block_size: int = 256


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n_head = c.n_head
        self.ln_1 = nn.LayerNorm(c.n_embd)
        self.ln_2 = nn.LayerNorm(c.n_embd)
        self.qkv = nn.Linear(c.n_embd, 3 * c.n_embd, bias=False)
        self.proj = nn.Linear(c.n_embd, c.n_embd, bias=False)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(),
                                 nn.Linear(4 * c.n_embd, c.n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln_1(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        self.wpe = nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList(Block(c) for _ in range(c.n_layer))
        self.ln_f = nn.LayerNorm(c.n_embd)
        self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        nn.init.normal_(self.wte.weight, std=0.02)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for b in self.h:
            x = b(x)
        logits = self.lm_head(self.ln_f(x))
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    def configure_optimizer(self, wd, lr):
        params = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {'params': [p for p in params if p.dim() >= 2], 'weight_decay': wd},
            {'params': [p for p in params if p.dim() < 2], 'weight_decay': 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    if it > max_iters:
        return min_lr
    ratio = (it - warmup_iters) / max(1, max_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


def main(config=None):
    accum = gradient_accumulation_steps
    ddp = int(os.environ.get('RANK', -1)) != -1
    if ddp:
        dist.init_process_group('nccl' if torch.cuda.is_available() else 'gloo')
        rank, local_rank = int(os.environ['RANK']), int(os.environ['LOCAL_RANK'])
        world = dist.get_world_size()
        assert accum % world == 0
        accum //= world
    else:
        rank, local_rank, world = 0, 0, 1
    master = rank == 0
    cuda = torch.cuda.is_available()
    device = f'cuda:{local_rank}' if cuda else 'cpu'
    if cuda:
        torch.cuda.set_device(device)
    if master:
        os.makedirs(out_dir, exist_ok=True)
    ctx = torch.autocast('cuda', dtype=torch.bfloat16) if cuda else nullcontext()

    torch.manual_seed(1337)
    config = config or GPTConfig(block_size=block_size)
    raw_model = GPT(config).to(device)
    optimizer = raw_model.configure_optimizer(weight_decay, learning_rate)
    model = DDP(raw_model, device_ids=[local_rank] if cuda else None) if ddp else raw_model
    torch.manual_seed(1337 + rank)

    def get_batch(split):
        data = np.memmap(os.path.join(data_dir, f'{split}.bin'), dtype=np.uint16, mode='r')
        ix = torch.randint(len(data) - config.block_size, (batch_size,))
        x = torch.stack([torch.from_numpy(data[i:i + config.block_size].astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + config.block_size].astype(np.int64)) for i in ix])
        return x.to(device), y.to(device)

    @torch.no_grad()
    def estimate_loss():
        raw_model.eval()
        out = {}
        for split in ('train', 'val'):
            out[split] = sum(raw_model(*get_batch(split))[1].item() for _ in range(eval_iters)) / eval_iters
        raw_model.train()
        return out

    X, Y = get_batch('train')
    t0 = time.time()
    for it in range(max_iters):
        for g in optimizer.param_groups:
            g['lr'] = get_lr(it)

        if it % eval_interval == 0 and master:
            losses = estimate_loss()
            print(f"step {it}: train {losses['train']:.4f} val {losses['val']:.4f}")
            torch.save({'model': raw_model.state_dict(), 'optimizer': optimizer.state_dict(),
                        'iter': it, 'config': config.__dict__}, os.path.join(out_dir, 'ckpt.pt'))

        for micro_step in range(accum):
            if ddp:
                # only all-reduce once per optimizer step
                model.require_backward_grad_sync = (micro_step == accum - 1)
            with ctx:
                _, loss = model(X, Y)
                loss = loss / accum
            X, Y = get_batch('train')
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        if it % log_interval == 0 and master:
            dt, t0 = time.time() - t0, time.time()
            print(f'iter {it}: loss {loss.item() * accum:.4f}, {dt * 1000:.0f}ms')
    if ddp:
        dist.destroy_process_group()
    return raw_model


if __name__ == '__main__':
    main()
