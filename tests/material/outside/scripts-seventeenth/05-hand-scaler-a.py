# training w/ hand-made dynamic loss scaling (bf16 autocast on CPU stands in for the real board)
import json
import re
from pathlib import Path

import torch
import torch.nn.functional as F

data = json.loads((Path(__file__).parent / "data/intents.json").read_text())
labels = sorted({d["intent"] for d in data})
vocab = {w: i for i, w in enumerate(sorted({w for d in data for w in re.findall(r"\w+", d["text"])}))}


def bag(text):
    v = torch.zeros(len(vocab))
    for w in re.findall(r"\w+", text):
        v[vocab[w]] += 1
    return v


X = torch.stack([bag(d["text"]) for d in data])
Y = torch.tensor([labels.index(d["intent"]) for d in data])


class LossScale:
    """Doubles after `patience` good micro batches, halves on overflow.

    All micro batches of one window have to be run with one and the same scale, since their
    gradients are added up before they are divided by it.
    """

    def __init__(self, value=2.0 ** 8, patience=10):
        self.value, self.patience, self.calm = value, patience, 0

    def __mul__(self, loss):
        self.calm += 1
        return loss * self.value

    def collect(self, params):
        """true gradients of the window, or None after an overflow"""
        grads = [p.grad.float() / self.value for p in params]
        for p in params:
            p.grad = None
        if not all(bool(g.isfinite().all()) for g in grads):
            self.value, self.calm = max(self.value / 2, 1.0), 0
            return None
        if self.calm >= self.patience:
            self.value, self.calm = self.value * 2, 0
        return grads


torch.manual_seed(1)
net = torch.nn.Sequential(
    torch.nn.Linear(len(vocab), 24), torch.nn.LayerNorm(24), torch.nn.ReLU(), torch.nn.Linear(24, len(labels)))
params = list(net.parameters())
velocity = [torch.zeros_like(p) for p in params]
scale = LossScale()
WINDOW, BS, LR, MU = 4, 12, 0.3, 0.6

skipped = updates = 0
for epoch in range(4):
    perm = torch.randperm(len(X))
    run = 0.0
    for n, idx in enumerate(perm.split(BS), 1):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = net(X[idx])
        loss = F.cross_entropy(out.float(), Y[idx])
        (scale * (loss / WINDOW)).backward()
        run += loss.item()
        if n % WINDOW:
            continue
        grads = scale.collect(params)
        if grads is None:
            skipped += 1
            continue
        updates += 1
        with torch.no_grad():
            for p, v, g in zip(params, velocity, grads):
                v.mul_(MU).add_(g)
                p.sub_(v, alpha=LR)
    print(f"epoch {epoch}: loss {run / n:.4f}  scale {scale.value:.0f}  updates {updates}  skipped {skipped}")

print("acc", (net(X).argmax(1) == Y).float().mean().item())
print("|w|", sum(p.detach().square().sum() for p in params).sqrt().item())
