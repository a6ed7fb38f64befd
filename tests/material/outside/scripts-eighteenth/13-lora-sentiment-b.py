"""LoRA on a small transformer classifier (reviews.jsonl)."""
import argparse
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=4, alpha=8.0):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_a.t() @ self.lora_b.t()) * self.scale


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, mask):
        h = self.n1(x)
        a = F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h), attn_mask=mask[:, None, :])
        x = x + self.o(a)
        return x + self.ff(self.n2(x))


class TextModel(nn.Module):
    def __init__(self, vocab, d=32, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.head = nn.Linear(d, 2)

    def forward(self, ids):
        mask = ids != 0
        x = self.emb(ids)
        for b in self.blocks:
            x = b(x, mask)
        m = mask.unsqueeze(-1).float()
        return self.head((x * m).sum(1) / m.sum(1))


def freeze(model):
    for p in model.parameters():
        p.requires_grad = False


def inject_lora(model, names=("q", "v"), r=4):
    for block in model.blocks:
        for n in names:
            setattr(block, n, LoRALinear(getattr(block, n), r=r))


def prepare_for_lora(model, r):
    inject_lora(model, r=r)
    freeze(model)
    for p in model.head.parameters():
        p.requires_grad = True
    return [p for p in model.parameters() if p.requires_grad]


def load(path):
    rows = [json.loads(line) for line in open(path)]
    vocab = {w: i + 1 for i, w in enumerate(sorted({w for r in rows for w in r["text"].split()}))}
    seqs = [torch.tensor([vocab[w] for w in r["text"].split()]) for r in rows]
    ids = nn.utils.rnn.pad_sequence(seqs, batch_first=True)
    return ids, torch.tensor([r["label"] for r in rows]), len(vocab) + 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/reviews.jsonl")
    ap.add_argument("--rank", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--batch-size", type=int, default=16)
    args = ap.parse_args()

    torch.manual_seed(0)
    ids, y, vocab = load(args.data)
    model = TextModel(vocab)
    params = prepare_for_lora(model, args.rank)
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.0)

    n_train = 120
    for epoch in range(args.epochs):
        perm = torch.randperm(n_train)
        tot = 0.0
        for i in range(0, n_train, args.batch_size):
            idx = perm[i:i + args.batch_size]
            opt.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(ids[idx]), y[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(params, 1.0)
            opt.step()
            tot += loss.item() * len(idx)
        with torch.no_grad():
            acc = (model(ids[n_train:]).argmax(1) == y[n_train:]).float().mean().item()
        print(f"epoch {epoch} loss {tot / n_train:.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
