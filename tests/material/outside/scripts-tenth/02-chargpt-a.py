# Character-level GPT on a plain text file. python train.py --text input.txt
import argparse
import json
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--text", default="input.txt")
parser.add_argument("--block", type=int, default=256)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--accum", type=int, default=8)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--heads", type=int, default=6)
parser.add_argument("--dim", type=int, default=384)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--lr", type=float, default=6e-4)
parser.add_argument("--min-lr", type=float, default=6e-5)
parser.add_argument("--warmup", type=int, default=50)
parser.add_argument("--log-every", type=int, default=10)
args = parser.parse_args()

torch.manual_seed(1337)
device = "cuda" if torch.cuda.is_available() else "cpu"


class Chars(Dataset):
    def __init__(self, ids, block):
        self.ids, self.block = ids, block

    def __len__(self):
        return (len(self.ids) - 1) // self.block

    def __getitem__(self, i):
        s = i * self.block
        chunk = self.ids[s:s + self.block + 1]
        return chunk[:-1], chunk[1:]


class Block(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.heads = heads
        self.drop = drop
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(drop))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                           dropout_p=self.drop if self.training else 0.0)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, args.dim)
        self.pos = nn.Parameter(torch.zeros(1, args.block, args.dim))
        self.blocks = nn.Sequential(*[Block(args.dim, args.heads, args.dropout) for _ in range(args.layers)])
        self.ln = nn.LayerNorm(args.dim)
        self.head = nn.Linear(args.dim, vocab, bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)

    def forward(self, x, y=None):
        h = self.tok(x) + self.pos[:, :x.size(1)]
        logits = self.head(self.ln(self.blocks(h)))
        if y is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())


text = open(args.text, encoding="utf-8").read()
vocab = sorted(set(text))
stoi = {c: i for i, c in enumerate(vocab)}
ids = torch.tensor([stoi[c] for c in text], dtype=torch.long)
n = int(0.9 * len(ids))
train_loader = DataLoader(Chars(ids[:n], args.block), args.batch, shuffle=True, drop_last=True)
val_loader = DataLoader(Chars(ids[n:], args.block), args.batch)

model = GPT(len(vocab)).to(device)
decay = [p for p in model.parameters() if p.dim() >= 2]
rest = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                        lr=args.lr, betas=(0.9, 0.95))

total = len(train_loader) * args.epochs


def lr_at(it):
    if it < args.warmup:
        return args.lr * (it + 1) / args.warmup
    frac = min(1.0, (it - args.warmup) / max(1, total - args.warmup))
    return args.min_lr + 0.5 * (args.lr - args.min_lr) * (1 + math.cos(math.pi * frac))


@torch.no_grad()
def validate():
    model.eval()
    losses = [model(x.to(device), y.to(device)).item() for x, y in val_loader]
    model.train()
    return sum(losses) / max(1, len(losses))


it = 0
t0 = time.time()
model.train()
for epoch in range(args.epochs):
    batches = iter(train_loader)
    for _ in range(len(train_loader) // args.accum):
        lr = lr_at(it)
        for g in opt.param_groups:
            g["lr"] = lr
        running = 0.0
        for _ in range(args.accum):
            x, y = next(batches)
            loss = model(x.to(device), y.to(device)) / args.accum
            loss.backward()
            running += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        it += 1
        if it % args.log_every == 0:
            print(f"it {it} loss {running:.4f} lr {lr:.2e} {time.time() - t0:.0f}s")
    print(f"epoch {epoch} val {validate():.4f}")
    torch.save({"model": model.state_dict(), "vocab": vocab}, "chargpt.pt")
json.dump(vars(args), open("chargpt.json", "w"))
