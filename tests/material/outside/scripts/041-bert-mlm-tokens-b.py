"""Masked LM pretraining on generated sentences of very different lengths."""
import argparse
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, MASK, CLS = 0, 1, 2


@dataclass
class Args:
    updates: int = 100
    micro_batch: int = 8
    accumulate: int = 4
    lr: float = 0.3
    mask_prob: float = 0.2
    dim: int = 32
    seed: int = 0


def parse() -> Args:
    ap = argparse.ArgumentParser()
    for name, default in vars(Args()).items():
        ap.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return Args(**vars(ap.parse_args()))


class Sentences:
    def __init__(self, rng):
        self.rng = rng
        det, noun, verb = ["the", "a"], ["cat", "dog", "man", "tree", "house"], ["sees", "likes", "has"]
        adj = ["old", "big", "red"]
        words = det + noun + verb + adj + ["and", "."]
        self.ids = {w: i + 3 for i, w in enumerate(words)}
        self.parts = det, noun, verb, adj
        self.vocab = len(words) + 3

    def np_(self):
        det, noun, _, adj = self.parts
        out = [self.rng.choice(det)]
        while self.rng.random() < 0.4:
            out.append(self.rng.choice(adj))
        return out + [self.rng.choice(noun)]

    def sentence(self):
        out = []
        for k in range(self.rng.choice([1, 1, 1, 2, 6])):
            out += (["and"] if k else []) + self.np_() + [self.rng.choice(self.parts[2])] + self.np_()
        return torch.tensor([CLS] + [self.ids[w] for w in out + ["."]])


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim, padding_idx=PAD), nn.Embedding(128, dim)
        self.mix = nn.LSTM(dim, dim // 2, bidirectional=True, batch_first=True)
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.size(1), device=x.device))
        return self.out(self.norm(h + self.mix(h)[0]))


def masked_batch(source, args):
    x = nn.utils.rnn.pad_sequence([source.sentence() for _ in range(args.micro_batch)], batch_first=True)
    target = x.clone()
    pick = (torch.rand(x.shape) < args.mask_prob) & (x > CLS)
    pick[0, 1] = True
    target[~pick] = -100
    return x.masked_fill(pick, MASK), target


def main():
    args = parse()
    torch.manual_seed(args.seed)
    source = Sentences(random.Random(args.seed))
    model = Encoder(source.vocab, args.dim)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for update in range(1, args.updates + 1):
        window = [masked_batch(source, args) for _ in range(args.accumulate)]
        n_tokens = sum((t != -100).sum() for _, t in window)
        optimizer.zero_grad()
        total = 0.0
        for x, target in window:
            loss = F.cross_entropy(model(x).flatten(0, 1), target.flatten(), ignore_index=-100, reduction="sum")
            (loss / (target != -100).sum()).backward()
            total += loss.item()
        optimizer.step()
        if update % 5 == 0:
            print(f"update {update}: mlm loss {total / n_tokens.item():.4f} over {n_tokens.item()} masked tokens")


if __name__ == "__main__":
    main()
