"""Tiny translation transformer on a tab separated file (source <TAB> target), whitespace tokens."""
import argparse
import collections
import logging
import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, BOS, EOS, UNK = range(4)
log = logging.getLogger(__name__)


def build_vocab(sentences, size):
    counts = collections.Counter(w for s in sentences for w in s)
    return {w: i + 4 for i, (w, _) in enumerate(counts.most_common(size))}


def encode(words, vocab):
    return torch.tensor([BOS] + [vocab.get(w, UNK) for w in words] + [EOS])


def collate(batch):
    src, tgt = zip(*batch)
    return pad_sequence(src, True, PAD), pad_sequence(tgt, True, PAD)


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, dim, heads, layers, ff, dropout, max_len=512):
        super().__init__()
        self.src, self.tgt = nn.Embedding(n_src, dim, padding_idx=PAD), nn.Embedding(n_tgt, dim, padding_idx=PAD)
        pos = torch.arange(max_len)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-math.log(1e4) / dim))
        self.register_buffer("pe", torch.stack([pos.sin(), pos.cos()], -1).flatten(1), persistent=False)
        self.core = nn.Transformer(dim, heads, layers, layers, ff, dropout, batch_first=True, norm_first=True)
        self.out = nn.Linear(dim, n_tgt)
        self.scale = math.sqrt(dim)

    def forward(self, src, tgt):
        s = self.src(src) * self.scale + self.pe[:src.size(1)]
        t = self.tgt(tgt) * self.scale + self.pe[:tgt.size(1)]
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).triu(1)
        h = self.core(s, t, tgt_mask=causal, src_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD,
                      memory_key_padding_mask=src == PAD)
        return self.out(h)


def smoothed_loss(logits, target, eps):
    """Sum over the target tokens; returns (loss, nll)."""
    lprobs = logits.log_softmax(-1)
    pad = target.eq(PAD)
    nll = -lprobs.gather(-1, target[..., None]).squeeze(-1)
    smooth = -lprobs.mean(-1)
    nll = nll.masked_fill(pad, 0.0).sum()
    smooth = smooth.masked_fill(pad, 0.0).sum()
    return (1 - eps) * nll + eps * smooth, nll


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    nll = tokens = 0
    for src, tgt in loader:
        src, tgt = src.to(device), tgt.to(device)
        _, n = smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:], 0.0)
        nll += n.item()
        tokens += tgt[:, 1:].ne(PAD).sum().item()
    return math.exp(min(20, nll / tokens))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pairs", default="pairs.tsv")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--dim", type=int, default=256)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--layers", type=int, default=3)
    ap.add_argument("--dropout", type=float, default=0.1)
    ap.add_argument("--smoothing", type=float, default=0.1)
    ap.add_argument("--warmup", type=int, default=2000)
    ap.add_argument("--vocab", type=int, default=12000)
    ap.add_argument("--max-words", type=int, default=80)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    random.seed(0)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    with open(args.pairs, encoding="utf-8") as f:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in f if "\t" in line]
    pairs = [(a.split()[:args.max_words], b.split()[:args.max_words]) for a, b in pairs]
    random.shuffle(pairs)
    cut = max(1, len(pairs) // 20)
    sv = build_vocab([a for a, _ in pairs[cut:]], args.vocab)
    tv = build_vocab([b for _, b in pairs[cut:]], args.vocab)
    data = [(encode(a, sv), encode(b, tv)) for a, b in pairs]
    valid = DataLoader(data[:cut], args.batch, collate_fn=collate)
    train = DataLoader(data[cut:], args.batch, shuffle=True, collate_fn=collate)

    model = Seq2Seq(len(sv) + 4, len(tv) + 4, args.dim, args.heads, args.layers, 4 * args.dim, args.dropout).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    noam = lambda s: args.dim ** -0.5 * min((s + 1) ** -0.5, (s + 1) * args.warmup ** -1.5)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, noam)

    for epoch in range(args.epochs):
        model.train()
        total = tokens = 0
        for src, tgt in train:
            src, tgt = src.to(device), tgt.to(device)
            loss, nll = smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:], args.smoothing)
            n = tgt[:, 1:].ne(PAD).sum()
            opt.zero_grad()
            (loss / n).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            total += nll.item()
            tokens += n.item()
        log.info("epoch %d train nll %.4f valid ppl %.2f", epoch, total / tokens, validate(model, valid, device))
        torch.save({"model": model.state_dict(), "src": sv, "tgt": tv, "args": vars(args)}, "nmt.pt")


if __name__ == "__main__":
    main()
