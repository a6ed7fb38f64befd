"""ListNet on generated query/document features. Queries have different lengths, so each one is its own pass."""
import numpy as np
import torch
import torch.nn.functional as F
from pydantic import BaseModel
from torch import nn


class Settings(BaseModel):
    queries: int = 192
    features: int = 10
    queries_per_update: int = 16
    epochs: int = 5
    lr: float = 0.1
    momentum: float = 0.9
    seed: int = 0


def generate(cfg: Settings, seed: int):
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(123).normal(size=cfg.features)
    out = []
    for _ in range(cfg.queries):
        n = rng.integers(5, 25)
        x = rng.normal(size=(n, cfg.features))
        s = x @ w + np.tanh(x[:, 0] * x[:, 1]) * 2 + rng.normal(0, 0.5, n)
        rel = np.digitize(s, np.quantile(s, [0.5, 0.8, 0.95]))
        out.append((torch.tensor(x, dtype=torch.float32), torch.tensor(rel, dtype=torch.float32)))
    return out


def listnet(scores, rel):
    return F.cross_entropy(scores.unsqueeze(0), rel.softmax(0).unsqueeze(0))


def ndcg(scores, rel, k=5):
    disc = 1 / torch.log2(torch.arange(2, k + 2).float())
    gain = lambda order: ((2 ** rel[order[:k]] - 1) * disc).sum()
    return (gain(scores.argsort(descending=True)) / gain(rel.argsort(descending=True)).clamp(min=1e-9)).item()


def evaluate(model, data):
    with torch.no_grad():
        return float(np.mean([ndcg(model(x).squeeze(1), rel) for x, rel in data]))


def main():
    cfg = Settings()
    torch.manual_seed(cfg.seed)
    train, test = generate(cfg, 1), generate(cfg, 2)
    model = nn.Sequential(nn.Linear(cfg.features, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)
    print(f"start: ndcg@5 {evaluate(model, test):.3f}")
    for epoch in range(cfg.epochs):
        order = np.random.default_rng(epoch).permutation(len(train))
        total = 0.0
        for start in range(0, len(order), cfg.queries_per_update):
            group = order[start:start + cfg.queries_per_update]
            optimizer.zero_grad()
            for q in group:
                x, rel = train[q]
                loss = listnet(model(x).squeeze(1), rel)
                (loss / len(order)).backward()
                total += loss.item()
            optimizer.step()
        print(f"epoch {epoch}: loss {total / len(order):.4f} ndcg@5 {evaluate(model, test):.3f}")


if __name__ == "__main__":
    main()
