import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    data: str = "data/tiny.txt"
    block: int = 32
    batch: int = 8
    dim: int = 48
    heads: int = 4
    layers: int = 2
    lr: float = 3e-3
    warmup: int = 5
    updates: int = 40
    accum: int = 4
    clip: float = 1.0
    seed: int = 1337


class CharLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.dim)
        self.pos = nn.Parameter(torch.zeros(1, cfg.block, cfg.dim))
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 4 * cfg.dim, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.head = nn.Linear(cfg.dim, vocab)

    def forward(self, idx):
        t = idx.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        h = self.tok(idx) + self.pos[:, :t]
        return self.head(self.body(h, mask=mask, is_causal=True))


def get_batch(ids, cfg, g):
    ix = torch.randint(0, len(ids) - cfg.block - 1, (cfg.batch,), generator=g)
    x = torch.stack([ids[i:i + cfg.block] for i in ix])
    y = torch.stack([ids[i + 1:i + 1 + cfg.block] for i in ix])
    return x, y


def lr_factor(step, cfg):
    if step < cfg.warmup:
        return (step + 1) / cfg.warmup
    frac = (step - cfg.warmup) / max(1, cfg.updates - cfg.warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, frac)))


def train(cfg):
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    text = Path(cfg.data).read_text()
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    split = int(0.9 * len(ids))
    train_ids, val_ids = ids[:split], ids[split:]

    model = CharLM(len(chars), cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_factor(s, cfg))

    running = 0.0
    for micro in range(cfg.updates * cfg.accum):
        x, y = get_batch(train_ids, cfg, g)
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        (loss / cfg.accum).backward()
        running += loss.item()

        if (micro + 1) % cfg.accum == 0:
            nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            opt.step()
            opt.zero_grad(set_to_none=True)
            sched.step()
            update = (micro + 1) // cfg.accum
            if update % 10 == 0:
                print(f"update {update:3d}  loss {running / (10 * cfg.accum):.4f}  lr {opt.param_groups[0]['lr']:.2e}")
                running = 0.0

    model.eval()
    with torch.no_grad():
        x, y = get_batch(val_ids, cfg, g)
        print("val", round(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item(), 4))


if __name__ == "__main__":
    train(Config())
