import argparse
import json
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8, dropout=0.05):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        self.scale = alpha / r
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(self.drop(x), self.lora_a), self.lora_b)


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, mask):
        h = self.n1(x)
        y = F.scaled_dot_product_attention(
            self.split(self.q(h)), self.split(self.k(h)), self.split(self.v(h)), attn_mask=mask
        )
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.ff(self.n2(x))


class Encoder(nn.Module):
    def __init__(self, vocab, d=64, heads=4, depth=4, num_labels=2, max_len=128):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(max_len, d)
        self.layers = nn.ModuleList(Layer(d, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(d)
        self.classifier = nn.Linear(d, num_labels)
        self.gradient_checkpointing = False

    def forward(self, ids, keep):
        mask = keep[:, None, None, :]
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, mask, use_reentrant=True)
            else:
                x = layer(x, mask)
        x = self.norm(x)
        w = keep.unsqueeze(-1).float()
        return self.classifier((x * w).sum(1) / w.sum(1))


def prepare_for_lora(model, rank):
    model.requires_grad_(False)
    for layer in model.layers:
        layer.q = LoRALinear(layer.q, rank)
        layer.v = LoRALinear(layer.v, rank)
    model.classifier.requires_grad_(True)
    return [p for p in model.parameters() if p.requires_grad]


def encode(rows):
    seqs = [list(r["text"].encode())[:128] for r in rows]
    n = max(map(len, seqs))
    ids = torch.tensor([s + [0] * (n - len(s)) for s in seqs])
    return ids, ids != 0, torch.tensor([int(r["label"] == "pos") for r in rows])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/reviews.jsonl")
    ap.add_argument("--pretrained", default=None)
    ap.add_argument("--rank", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--bs", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--out", default="lora_adapter.pt")
    args = ap.parse_args()

    random.seed(0)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = [json.loads(line) for line in open(args.data)]
    random.shuffle(rows)
    cut = int(0.85 * len(rows))
    train, val = rows[:cut], rows[cut:]

    model = Encoder(256)
    if args.pretrained:
        state = torch.load(args.pretrained, map_location="cpu")
        model.load_state_dict({k: v for k, v in state.items() if "classifier" not in k}, strict=False)
    trainable = prepare_for_lora(model, args.rank)
    model.gradient_checkpointing = True
    model.to(device)
    print(f"trainable {sum(p.numel() for p in trainable):,} of {sum(p.numel() for p in model.parameters()):,}")

    optimizer = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.01)
    for epoch in range(args.epochs):
        model.train()
        random.shuffle(train)
        total = 0.0
        for i in range(0, len(train), args.bs):
            ids, keep, y = (t.to(device) for t in encode(train[i : i + args.bs]))
            loss = F.cross_entropy(model(ids, keep), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(trainable, 1.0)
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            ids, keep, y = (t.to(device) for t in encode(val))
            acc = (model(ids, keep).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {total / len(train):.4f} acc {acc:.3f}")

    names = {n for n, p in model.named_parameters() if p.requires_grad}
    torch.save({k: v for k, v in model.state_dict().items() if k in names}, args.out)


if __name__ == "__main__":
    main()
