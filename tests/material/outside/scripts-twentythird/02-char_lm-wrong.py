"""Character-level language model: a small GPT-style decoder on a plain text file."""
import argparse
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    block_size: int = 48
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 48
    dropout: float = 0.1
    batch_size: int = 4
    accum_steps: int = 4
    epochs: int = 5
    lr: float = 3e-3
    weight_decay: float = 0.1
    warmup_frac: float = 0.1
    grad_clip: float = 1.0


class CharDataset(Dataset):
    def __init__(self, text, block_size):
        chars = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(chars)}
        self.itos = chars
        self.block_size = block_size
        self.data = torch.tensor([self.stoi[c] for c in text], dtype=torch.long)

    def __len__(self):
        return (len(self.data) - 1) // self.block_size

    def __getitem__(self, i):
        s = i * self.block_size
        chunk = self.data[s : s + self.block_size + 1]
        return chunk[:-1], chunk[1:]


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg.n_head
        self.ln1 = nn.LayerNorm(cfg.n_embd)
        self.qkv = nn.Linear(cfg.n_embd, 3 * cfg.n_embd, bias=False)
        self.proj = nn.Linear(cfg.n_embd, cfg.n_embd, bias=False)
        self.ln2 = nn.LayerNorm(cfg.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(), nn.Linear(4 * cfg.n_embd, cfg.n_embd), nn.Dropout(cfg.dropout)
        )

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.n_embd)
        self.pos = nn.Embedding(cfg.block_size, cfg.n_embd)
        self.blocks = nn.Sequential(*[Block(cfg) for _ in range(cfg.n_layer)])
        self.ln_f = nn.LayerNorm(cfg.n_embd)
        self.head = nn.Linear(cfg.n_embd, vocab, bias=False)
        self.head.weight = self.tok.weight
        for emb in (self.tok, self.pos):
            nn.init.normal_(emb.weight, std=0.02)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def make_optimizer(model, cfg):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": cfg.weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=cfg.lr, betas=(0.9, 0.95))


def warmup_cosine(total_steps, warmup_steps, floor=0.1):
    def fn(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        t = (step - warmup_steps) / max(1, total_steps - warmup_steps)
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(1.0, t)))

    return fn


@torch.no_grad()
def sample(model, ds, prompt, n, device, block_size):
    model.eval()
    idx = torch.tensor([[ds.stoi[c] for c in prompt]], device=device)
    for _ in range(n):
        logits, _ = model(idx[:, -block_size:])
        nxt = torch.multinomial(logits[:, -1].softmax(-1), 1)
        idx = torch.cat([idx, nxt], 1)
    return "".join(ds.itos[i] for i in idx[0].tolist())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True, help="path to a utf-8 text file")
    parser.add_argument("--seed", type=int, default=1337)
    args = parser.parse_args()
    cfg = Config()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    with open(args.text, encoding="utf-8") as f:
        ds = CharDataset(f.read(), cfg.block_size)
    loader = DataLoader(ds, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    model = GPT(len(ds.itos), cfg).to(device)
    optimizer = make_optimizer(model, cfg)

    total_steps = cfg.epochs * len(loader)
    scheduler = LambdaLR(optimizer, warmup_cosine(total_steps, max(1, int(cfg.warmup_frac * total_steps))))

    for epoch in range(cfg.epochs):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        epoch_loss = 0.0
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device), y.to(device)
            # the last group of an epoch may be shorter
            group_start = (i // cfg.accum_steps) * cfg.accum_steps
            group_size = min(cfg.accum_steps, len(loader) - group_start)
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=device == "cuda"):
                _, loss = model(x, y)
            (loss / group_size).backward()
            epoch_loss += loss.item()
            if i + 1 == group_start + group_size:
                torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
        print(f"epoch {epoch}: loss {epoch_loss / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.2e}")

    print(sample(model, ds, "The ", 120, device, cfg.block_size))


if __name__ == "__main__":
    main()
