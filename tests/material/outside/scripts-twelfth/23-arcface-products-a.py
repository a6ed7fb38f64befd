import argparse
import logging
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Sampler, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger(__name__)


class ArcFaceLoss(nn.Module):
    def __init__(self, classes, dim, scale=16.0, margin=0.2):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, dim))
        nn.init.xavier_uniform_(self.weight)
        self.scale, self.margin = scale, margin

    def forward(self, emb, y):
        cos = F.linear(F.normalize(emb), F.normalize(self.weight)).clamp(-1 + 1e-6, 1 - 1e-6)
        target = torch.cos(torch.acos(cos) + self.margin)
        safe = cos > math.cos(math.pi - self.margin)
        target = torch.where(safe, target, cos - self.margin * math.sin(self.margin))
        one_hot = F.one_hot(y, cos.size(1)).bool()
        return F.cross_entropy(self.scale * torch.where(one_hot, target, cos), y)


class BalancedBatches(Sampler):
    def __init__(self, labels, classes_per_batch, per_class, seed=0):
        self.by_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
        self.p, self.k = classes_per_batch, per_class
        self.n = len(labels) // (self.p * self.k)
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.n

    def __iter__(self):
        for _ in range(self.n):
            chosen = self.rng.choice(list(self.by_class), self.p, replace=False)
            yield np.concatenate([self.rng.choice(self.by_class[c], self.k) for c in chosen]).tolist()


def embedder(d_in, d_out):
    return nn.Sequential(
        nn.Linear(d_in, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, d_out)
    )


@torch.no_grad()
def recall_at_1(model, x, y):
    model.eval()
    e = F.normalize(model(x))
    sim = e @ e.t()
    sim.fill_diagonal_(-2)
    return (y[sim.argmax(1)] == y).float().mean().item()


def train(args):
    torch.manual_seed(args.seed)
    blob = np.load(args.data)
    x, y = torch.from_numpy(blob["x"]), torch.from_numpy(blob["y"]).long()
    n_train = int(0.75 * len(torch.unique(y)))
    seen = y < n_train
    train_x, train_y, test_x, test_y = x[seen], y[seen], x[~seen], y[~seen]

    sampler = BalancedBatches(train_y.numpy(), args.p, args.k, args.seed)
    loader = DataLoader(TensorDataset(train_x, train_y), batch_sampler=sampler)
    model = embedder(x.size(1), args.dim)
    criterion = ArcFaceLoss(n_train, args.dim)
    optimizer = torch.optim.AdamW(
        [
            {"params": model.parameters(), "lr": args.lr},
            {"params": criterion.parameters(), "lr": args.lr * 10, "weight_decay": 0.0},
        ]
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        r1 = recall_at_1(model, test_x, test_y)
        logger.info("epoch %d loss %.4f R@1 %.3f", epoch, np.mean(losses), r1)
        if r1 >= best:
            best = r1
            torch.save({"model": model.state_dict(), "proxies": criterion.state_dict()}, args.out)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/products.npz")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--p", type=int, default=8)
    ap.add_argument("--k", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="arcface.pt")
    train(ap.parse_args())
