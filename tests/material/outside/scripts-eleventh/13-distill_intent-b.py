"""Distil a large intent classifier into a small one. Data: jsonl with {"text": ..., "intent": ...}."""
import argparse
import json
import math
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

PAD, UNK, CLS = 0, 1, 2


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


class Encoder(nn.Module):
    def __init__(self, vocab, n_cls, dim, heads, layers, dropout, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(dim, n_cls)

    def forward(self, ids):
        x = self.drop(self.tok(ids) + self.pos[: ids.size(1)])
        h = self.norm(self.enc(x, src_key_padding_mask=ids == PAD)[:, 0])
        return self.head(self.drop(h)), h


class Distiller(nn.Module):
    """Holds teacher, student and the projection used for the hidden-state loss."""

    def __init__(self, teacher, student, t_dim, s_dim, temperature, alpha, beta):
        super().__init__()
        self.teacher = teacher.requires_grad_(False)
        self.student = student
        self.proj = nn.Linear(s_dim, t_dim)
        self.T, self.alpha, self.beta = temperature, alpha, beta

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, ids, labels):
        with torch.no_grad():
            t_logits, t_hid = self.teacher(ids)
        s_logits, s_hid = self.student(ids)
        hard = F.cross_entropy(s_logits, labels)
        soft = F.kl_div(F.log_softmax(s_logits / self.T, -1), F.log_softmax(t_logits / self.T, -1),
                        log_target=True, reduction="batchmean") * self.T ** 2
        hid = 1 - F.cosine_similarity(self.proj(s_hid), t_hid, dim=-1).mean()
        loss = (1 - self.alpha) * hard + self.alpha * soft + self.beta * hid
        return loss, {"hard": hard.item(), "soft": soft.item(), "hid": hid.item()}


def build_vocab(rows, min_count=2):
    counts = Counter(w for r in rows for w in r["text"].lower().split())
    words = ["<pad>", "<unk>", "<cls>"] + sorted(w for w, c in counts.items() if c >= min_count)
    return {w: i for i, w in enumerate(words)}


def make_collate(vocab, labels, max_len=64):
    def collate(rows):
        seqs = [[CLS] + [vocab.get(w, UNK) for w in r["text"].lower().split()][: max_len - 1] for r in rows]
        n = max(map(len, seqs))
        ids = torch.tensor([s + [PAD] * (n - len(s)) for s in seqs])
        return ids, torch.tensor([labels[r["intent"]] for r in rows])
    return collate


@torch.no_grad()
def accuracy(model, loader, device):
    ok = n = 0
    for ids, y in loader:
        ok += (model(ids.to(device))[0].argmax(-1).cpu() == y).sum().item()
        n += len(y)
    return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", required=True)
    ap.add_argument("--valid", required=True)
    ap.add_argument("--teacher", required=True, help="checkpoint with keys model, vocab, labels, dim, heads, layers")
    ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--layers", type=int, default=2)
    ap.add_argument("--temperature", type=float, default=3.0)
    ap.add_argument("--alpha", type=float, default=0.7)
    ap.add_argument("--beta", type=float, default=0.5)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--out", default="student.pt")
    args = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"

    ck = torch.load(args.teacher, map_location="cpu")
    vocab, labels = ck["vocab"], ck["labels"]
    teacher = Encoder(len(vocab), len(labels), ck["dim"], ck["heads"], ck["layers"], 0.1)
    teacher.load_state_dict(ck["model"])
    student = Encoder(len(vocab), len(labels), args.dim, 4, args.layers, 0.1)
    distiller = Distiller(teacher, student, ck["dim"], args.dim, args.temperature, args.alpha, args.beta).to(device)

    collate = make_collate(vocab, labels)
    train_dl = DataLoader(read_jsonl(args.train), args.batch, shuffle=True, collate_fn=collate)
    valid_dl = DataLoader(read_jsonl(args.valid), args.batch, collate_fn=collate)

    params = [p for p in distiller.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.01)
    total = args.epochs * len(train_dl)
    warm = max(1, total // 10)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * (s - warm) / (total - warm))))

    best = 0.0
    for epoch in range(args.epochs):
        distiller.train()
        stats = Counter()
        for ids, y in train_dl:
            loss, parts = distiller(ids.to(device), y.to(device))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(params, 1.0)
            opt.step()
            sched.step()
            stats.update(parts)
        distiller.eval()
        acc = accuracy(distiller.student, valid_dl, device)
        print(epoch, {k: round(v / len(train_dl), 4) for k, v in stats.items()}, f"acc {acc:.4f}")
        if acc > best:
            best = acc
            torch.save({"model": student.state_dict(), "vocab": vocab, "labels": labels, "dim": args.dim,
                        "heads": 4, "layers": args.layers}, args.out)


if __name__ == "__main__":
    main()
