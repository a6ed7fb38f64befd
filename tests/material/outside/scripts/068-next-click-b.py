"""Session-based recommendation: predict the next click. Updates with a gradient spike are left out."""
import collections
import statistics

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

ITEMS, DIM, LEN = 60, 32, 12
MICRO, ACC, UPDATES = 16, 4, 120
SPIKE = 3.0

rng = np.random.default_rng(4)
torch.manual_seed(4)
transition = rng.dirichlet(np.full(ITEMS, 0.05), size=ITEMS)
cumulative = transition.cumsum(1)


def sessions(n):
    out = np.zeros((n, LEN), dtype=np.int64)
    out[:, 0] = rng.integers(0, ITEMS, n)
    for t in range(1, LEN):
        out[:, t] = np.minimum((rng.random((n, 1)) > cumulative[out[:, t - 1]]).sum(1), ITEMS - 1)
    return torch.from_numpy(out)


def log_batch(n):
    """One in thirty batches comes from a crawler: one item over and over, and with a broken weight."""
    x, w = sessions(n), torch.ones(n)
    if rng.random() < 1 / 30:
        x[:] = int(rng.integers(0, ITEMS))
        w[:] = 40.0
    return x, w


class NextClick(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(ITEMS, DIM)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.out = nn.Linear(DIM, ITEMS)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


class SpikeFilter:
    def __init__(self, factor, memory=30):
        self.factor, self.norms = factor, collections.deque(maxlen=memory)
        self.skipped = 0

    def accept(self, norm):
        ok = len(self.norms) < 3 or norm < self.factor * statistics.median(self.norms)
        if ok:
            self.norms.append(norm)
        else:
            self.skipped += 1
        return ok


def grad_norm(model):
    return torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters())).item()


def main():
    model = NextClick()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    spikes = SpikeFilter(SPIKE)
    test = sessions(256)
    for update in range(1, UPDATES + 1):
        for _ in range(ACC):
            x, w = log_batch(MICRO)
            ce = F.cross_entropy(model(x[:, :-1]).transpose(1, 2), x[:, 1:], reduction="none").mean(1)
            ((w * ce).mean() / ACC).backward()
        if spikes.accept(grad_norm(model)):
            optimizer.step()
            optimizer.zero_grad()
        if update % 30 == 0:
            with torch.no_grad():
                logits = model(test[:, :-1])
            loss = F.cross_entropy(logits.transpose(1, 2), test[:, 1:]).item()
            hit = (logits[:, -1].topk(5).indices == test[:, -1:]).any(1).float().mean().item()
            print(f"update {update}: test loss {loss:.3f} hit@5 {hit:.3f} skipped {spikes.skipped}")


if __name__ == "__main__":
    main()
