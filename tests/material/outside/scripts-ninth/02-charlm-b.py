# char-level GPT on a single text file. nothing fancy
import math
import sys
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Cfg:
    path: str = "input.txt"
    block: int = 128
    n_layer: int = 4
    n_head: int = 4
    d: int = 128
    dropout: float = 0.1
    micro_bs: int = 16
    accum: int = 4
    iters: int = 5000
    lr: float = 1e-3
    min_lr: float = 1e-4
    warmup: int = 200
    wd: float = 0.1
    clip: float = 1.0
    eval_every: int = 250
    eval_iters: int = 40
    seed: int = 1337
    ckpt: str = "charlm.pt"


cfg = Cfg()
for a in sys.argv[1:]:                      # key=value overrides
    k, v = a.split("=", 1)
    setattr(cfg, k, type(getattr(cfg, k))(v))

torch.manual_seed(cfg.seed)
dev = "cuda" if torch.cuda.is_available() else "cpu"
text = open(cfg.path, encoding="utf-8").read()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
n = int(0.9 * len(data))
splits = {"train": data[:n], "val": data[n:]}


def get_batch(split):
    d = splits[split]
    ix = torch.randint(len(d) - cfg.block - 1, (cfg.micro_bs,))
    x = torch.stack([d[i:i + cfg.block] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + cfg.block] for i in ix])
    return x.to(dev), y.to(dev)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(cfg.d), nn.LayerNorm(cfg.d)
        self.qkv = nn.Linear(cfg.d, 3 * cfg.d)
        self.proj = nn.Linear(cfg.d, cfg.d)
        self.mlp = nn.Sequential(nn.Linear(cfg.d, 4 * cfg.d), nn.GELU(),
                                 nn.Linear(4 * cfg.d, cfg.d), nn.Dropout(cfg.dropout))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, cfg.n_head, C // cfg.n_head).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                           dropout_p=cfg.dropout if self.training else 0.0)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.d)
        self.pos = nn.Embedding(cfg.block, cfg.d)
        self.blocks = nn.ModuleList(Block() for _ in range(cfg.n_layer))
        self.ln = nn.LayerNorm(cfg.d)
        self.head = nn.Linear(cfg.d, vocab, bias=False)
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
        for b in self.blocks:
            h = b(h)
        logits = self.head(self.ln(h))
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def lr_at(it):
    if it < cfg.warmup:
        return cfg.lr * (it + 1) / cfg.warmup
    t = (it - cfg.warmup) / max(1, cfg.iters - cfg.warmup)
    return cfg.min_lr + 0.5 * (cfg.lr - cfg.min_lr) * (1 + math.cos(math.pi * min(t, 1.0)))


@torch.no_grad()
def estimate():
    model.eval()
    r = {s: sum(model(*get_batch(s)).item() for _ in range(cfg.eval_iters)) / cfg.eval_iters
         for s in splits}
    model.train()
    return r


model = GPT(len(chars)).to(dev)
decay = [p for p in model.parameters() if p.dim() >= 2]
rest = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": cfg.wd},
                         {"params": rest, "weight_decay": 0.0}], lr=cfg.lr, betas=(0.9, 0.95))
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M params, vocab {len(chars)}")

best, t0 = float("inf"), time.time()
for it in range(cfg.iters):
    if it % cfg.eval_every == 0 or it == cfg.iters - 1:
        r = estimate()
        print(f"iter {it} train {r['train']:.4f} val {r['val']:.4f} ({time.time() - t0:.0f}s)")
        if r["val"] < best:
            best = r["val"]
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "it": it, "chars": chars}, cfg.ckpt)

    for g in opt.param_groups:
        g["lr"] = lr_at(it)

    for _ in range(cfg.accum):
        opt.zero_grad(set_to_none=True)
        xb, yb = get_batch("train")
        loss = model(xb, yb) / cfg.accum
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
    opt.step()
