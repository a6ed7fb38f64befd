"""Event-based piano music transformer. Each piece is a json file: {"events": [int, ...]}"""
import argparse
import glob
import json
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = exp_avg.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


class Pieces(Dataset):
    def __init__(self, files, seq, samples):
        self.pieces = []
        for f in files:
            with open(f) as fh:
                ev = torch.tensor(json.load(fh)["events"], dtype=torch.long)
            if len(ev) > seq + 1:
                self.pieces.append(ev)
        self.seq, self.samples = seq, samples

    def __len__(self):
        return self.samples

    def __getitem__(self, i):
        ev = self.pieces[i % len(self.pieces)]
        s = int(torch.randint(0, len(ev) - self.seq, (1,)))
        chunk = ev[s:s + self.seq + 1]
        return chunk[:-1], chunk[1:]


class MusicTransformer(nn.Module):
    def __init__(self, vocab, dim, heads, layers, seq, dropout):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.zeros(1, seq, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(seq), persistent=False)

    def forward(self, x):
        t = x.size(1)
        h = self.tok(x) + self.pos[:, :t]
        return self.head(self.body(h, mask=self.mask[:t, :t], is_causal=True))


def param_groups(model, wd):
    decay, rest = [], []
    for name, p in model.named_parameters():
        (decay if p.dim() == 2 and not name.startswith("tok") else rest).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    loss = sum(F.cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten()).item() for x, y in loader)
    return loss / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="maestro_events")
    ap.add_argument("--vocab", type=int, default=388)
    ap.add_argument("--seq", type=int, default=512)
    ap.add_argument("--dim", type=int, default=256)
    ap.add_argument("--heads", type=int, default=8)
    ap.add_argument("--layers", type=int, default=6)
    ap.add_argument("--dropout", type=float, default=0.1)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--samples", type=int, default=8000)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--wd", type=float, default=0.5)
    ap.add_argument("--warmup", type=int, default=400)
    ap.add_argument("--out", default="music.pt")
    args = ap.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    files = sorted(glob.glob(os.path.join(args.data, "*.json")))
    n_val = max(1, len(files) // 10)
    train_dl = DataLoader(Pieces(files[n_val:], args.seq, args.samples), args.batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(Pieces(files[:n_val], args.seq, max(args.batch, args.samples // 20)), args.batch)

    model = MusicTransformer(args.vocab, args.dim, args.heads, args.layers, args.seq, args.dropout).to(device)
    opt = Lion(param_groups(model, args.wd), lr=args.lr)
    total = args.epochs * len(train_dl)

    def factor(s):
        if s < args.warmup:
            return (s + 1) / args.warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (s - args.warmup) / max(1, total - args.warmup))))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_dl:
            loss = F.cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            running += loss.item()
        val = validate(model, val_dl, device)
        print(f"epoch {epoch:02d} train {running / len(train_dl):.4f} val {val:.4f} lr {sched.get_last_lr()[0]:.2e}")
        if val < best:
            best = val
            torch.save({"model": model.state_dict(), "args": vars(args)}, args.out)


if __name__ == "__main__":
    main()
