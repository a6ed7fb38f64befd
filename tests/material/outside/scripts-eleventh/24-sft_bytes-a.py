"""Supervised fine-tuning of a byte-level decoder on instruction data (jsonl: {"prompt": ..., "response": ...}).

The objective is the mean negative log-likelihood over all response tokens that enter one optimizer step.
"""
import argparse
import json
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

BOS, SEP, EOS, PAD = 256, 257, 258, 259
IGNORE = -100


def encode(row, max_len):
    prompt = [BOS] + list(row["prompt"].encode("utf-8")) + [SEP]
    answer = list(row["response"].encode("utf-8")) + [EOS]
    ids = (prompt + answer)[:max_len]
    labels = ([IGNORE] * len(prompt) + answer)[:max_len]
    return ids, labels


def load(path, max_len):
    with open(path, encoding="utf-8") as f:
        rows = [encode(json.loads(ln), max_len) for ln in f if ln.strip()]
    return [r for r in rows if any(t != IGNORE for t in r[1][1:])]


def collate(rows, device):
    n = max(len(r[0]) for r in rows)
    ids = torch.full((len(rows), n), PAD)
    labels = torch.full((len(rows), n), IGNORE)
    for k, (i, l) in enumerate(rows):
        ids[k, :len(i)] = torch.tensor(i)
        labels[k, :len(l)] = torch.tensor(l)
    return ids.to(device), labels.to(device)


class Layer(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.h, self.p = h, p
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(p))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p if self.training else 0.0)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class ByteDecoder(nn.Module):
    def __init__(self, d=384, h=6, n=8, max_len=1024, p=0.1):
        super().__init__()
        self.emb, self.pos = nn.Embedding(260, d), nn.Embedding(max_len, d)
        self.layers = nn.ModuleList(Layer(d, h, p) for _ in range(n))
        self.norm, self.lm = nn.LayerNorm(d), nn.Linear(d, 260, bias=False)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.lm(self.norm(x))


def token_nll(model, ids, labels):
    logits = model(ids)[:, :-1].float()
    return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE, reduction="sum")


def n_targets(labels):
    return int((labels[:, 1:] != IGNORE).sum())


@torch.no_grad()
def evaluate(model, rows, bs, device):
    model.eval()
    nll = n = 0
    for i in range(0, len(rows), bs):
        ids, labels = collate(rows[i:i + bs], device)
        nll += token_nll(model, ids, labels).item()
        n += n_targets(labels)
    return nll / n


def windows(rows, micro, accum):
    order = random.sample(range(len(rows)), len(rows))
    micros = [order[i:i + micro] for i in range(0, len(order), micro)]
    for i in range(0, len(micros), accum):
        yield [[rows[j] for j in m] for m in micros[i:i + accum]]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", required=True)
    ap.add_argument("--valid", required=True)
    ap.add_argument("--init", help="pre-trained state dict")
    ap.add_argument("--micro", type=int, default=4)
    ap.add_argument("--accum", type=int, default=16)
    ap.add_argument("--max-len", type=int, default=1024)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=5e-5)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--out", default="sft.pt")
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train, valid = load(args.train, args.max_len), load(args.valid, args.max_len)
    model = ByteDecoder(max_len=args.max_len).to(device)
    if args.init:
        model.load_state_dict(torch.load(args.init, map_location=device))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.0)
    per_epoch = math.ceil(math.ceil(len(train) / args.micro) / args.accum)
    total = per_epoch * args.epochs
    warm = max(1, int(0.03 * total))
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / warm, max(0.0, (total - s) / max(1, total - warm))))

    step, best = 0, float("inf")
    for epoch in range(args.epochs):
        model.train()
        for window in windows(train, args.micro, args.accum):
            batches = [collate(rows, device) for rows in window]
            opt.zero_grad(set_to_none=True)
            step_loss = 0.0
            for ids, labels in batches:
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                    nll = token_nll(model, ids, labels)
                loss = nll / n_targets(labels) / len(batches)
                loss.backward()
                step_loss += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            sched.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step}/{total} loss {step_loss:.4f} lr {sched.get_last_lr()[0]:.2e}")
        val = evaluate(model, valid, args.micro * 2, device)
        print(f"epoch {epoch} valid nll/token {val:.4f}")
        if val < best:
            best = val
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
