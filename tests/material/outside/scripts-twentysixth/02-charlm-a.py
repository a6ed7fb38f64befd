import math
import sys
from dataclasses import dataclass, fields

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    text: str = "data/corpus.txt"
    block: int = 48
    batch: int = 6
    accum: int = 2
    updates: int = 120
    warmup: int = 10
    lr: float = 3e-3
    weight_decay: float = 0.05
    clip: float = 1.0
    skip_factor: float = 1.15
    norm_beta: float = 0.9
    dim: int = 48
    heads: int = 4
    layers: int = 2
    seed: int = 1337


def parse(argv):
    cfg = Config()
    kinds = {f.name: f.type for f in fields(cfg)}
    for a in argv:
        key, _, val = a.lstrip("-").partition("=")
        if key not in kinds:
            raise SystemExit(f"unknown option {key}")
        setattr(cfg, key, type(getattr(cfg, key))(val))
    return cfg


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.block, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg.dim, cfg.heads) for _ in range(cfg.layers))
        self.norm = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1], device=idx.device))
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


def get_batch(data, cfg, device):
    at = torch.randint(0, len(data) - cfg.block - 1, (cfg.batch,))
    x = torch.stack([data[i : i + cfg.block] for i in at])
    y = torch.stack([data[i + 1 : i + 1 + cfg.block] for i in at])
    return x.to(device), y.to(device)


def param_groups(model, wd):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


def main():
    cfg = parse(sys.argv[1:])
    torch.manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    text = open(cfg.text, encoding="utf-8").read()
    chars = sorted(set(text))
    lut = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([lut[c] for c in text])
    split = int(0.9 * len(data))
    train, val = data[:split], data[split:]

    model = CharLM(len(chars), cfg).to(device)
    opt = torch.optim.AdamW(param_groups(model, cfg.weight_decay), lr=cfg.lr, betas=(0.9, 0.95))

    def lr_factor(u):
        if u < cfg.warmup:
            return (u + 1) / cfg.warmup
        p = (u - cfg.warmup) / max(1, cfg.updates - cfg.warmup)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, p)))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_factor)

    avg_norm = None
    update = skipped = 0
    opt.zero_grad(set_to_none=True)
    while update < cfg.updates:
        running = 0.0
        for _ in range(cfg.accum):
            x, y = get_batch(train, cfg, device)
            with torch.autocast(device, dtype=torch.bfloat16):
                logits = model(x)
            loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
            (loss / cfg.accum).backward()
            running += loss.item() / cfg.accum
        norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.clip).item()

        # a batch that is far out of line is left out
        if avg_norm is not None and update >= cfg.warmup and norm > cfg.skip_factor * avg_norm:
            skipped += 1
            avg_norm = cfg.norm_beta * avg_norm + (1 - cfg.norm_beta) * norm
            opt.zero_grad(set_to_none=True)
            continue

        avg_norm = norm if avg_norm is None else cfg.norm_beta * avg_norm + (1 - cfg.norm_beta) * norm
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        update += 1
        if update % 20 == 0:
            print(f"update {update:4d} loss {running:.3f} norm {norm:.3f} skipped {skipped} lr {sched.get_last_lr()[0]:.2e}")

    model.eval()
    with torch.no_grad():
        x, y = get_batch(val, cfg, device)
        vl = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    print(f"val loss {vl.item():.3f} ppl {math.exp(vl.item()):.1f}")


if __name__ == "__main__":
    main()
