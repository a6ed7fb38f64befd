"""Hashing-trick text classifier on an endless generated stream of reviews."""
import itertools
import random
import zlib

import torch
from torch import nn

BUCKETS = 512
GOOD = "great lovely superb charming fresh warm witty".split()
BAD = "dull bland awful tired messy cold clumsy".split()
FILL = "the plot acting food room staff music scene was and with very quite a bit".split()


def reviews(seed):
    rng = random.Random(seed)
    while True:
        label = rng.randint(0, 1)
        words = rng.choices(FILL, k=rng.randint(6, 14))
        words += rng.choices(GOOD if label else BAD, k=rng.randint(1, 3))
        if rng.random() < 0.3:
            words += rng.choices(BAD if label else GOOD, k=1)
        rng.shuffle(words)
        yield words, label


def hashed(stream):
    for words, label in stream:
        ids = [zlib.crc32(w.encode()) % BUCKETS for w in words]
        ids += [zlib.crc32((a + "_" + b).encode()) % BUCKETS for a, b in zip(words, words[1:])]
        yield torch.tensor(ids), label


def batched(stream, size):
    while True:
        chunk = list(itertools.islice(stream, size))
        ids = [c[0] for c in chunk]
        offsets = torch.tensor([0] + [len(i) for i in ids[:-1]]).cumsum(0)
        yield torch.cat(ids), offsets, torch.tensor([c[1] for c in chunk], dtype=torch.float32)


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, dim, mode="mean")
        self.top = nn.Sequential(nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, ids, offsets):
        return self.top(self.bag(ids, offsets)).squeeze(1)


def train(model, batches, max_steps, accum, lr, report):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    loss_fn = nn.BCEWithLogitsLoss()
    smoothed = None
    for step in range(1, max_steps + 1):
        optimizer.zero_grad()
        step_loss = 0.0
        for _ in range(accum):
            ids, offsets, y = next(batches)
            loss = loss_fn(model(ids, offsets), y) / accum
            loss.backward()
            step_loss += loss.item()
            optimizer.step()
        smoothed = step_loss if smoothed is None else 0.95 * smoothed + 0.05 * step_loss
        if step % report == 0:
            yield step, smoothed


def accuracy(model, batches, n):
    with torch.no_grad():
        hits = [((model(i, o) > 0) == y.bool()).float().mean() for i, o, y in itertools.islice(batches, n)]
    return torch.stack(hits).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Model()
    held_out = batched(hashed(reviews(999)), 64)
    for step, loss in train(model, batched(hashed(reviews(1)), 16), max_steps=120, accum=4, lr=0.5, report=40):
        print(f"step {step}: loss {loss:.4f} acc {accuracy(model, held_out, 5):.3f}")
