"""Click-through-rate model (FM + MLP) with per-group hyper-parameters.

python ctr.py --csv clicks.csv --label click
"""
import argparse
import logging

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("ctr")


class FieldEmbedding(nn.Module):
    def __init__(self, cardinalities, dim):
        super().__init__()
        self.register_buffer("offset", torch.tensor([0] + cardinalities[:-1]).cumsum(0))
        self.table = nn.Embedding(sum(cardinalities), dim)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, ids):
        return self.table(ids + self.offset)


class DeepFM(nn.Module):
    def __init__(self, cards, n_dense, dim=16, hidden=(128, 64), dropout=0.1):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))
        self.first_order = FieldEmbedding(cards, 1)
        self.second_order = FieldEmbedding(cards, dim)
        self.dense_norm = nn.LayerNorm(n_dense)
        d = len(cards) * dim + n_dense
        blocks = []
        for h in hidden:
            blocks += [nn.Linear(d, h), nn.LayerNorm(h), nn.ReLU(), nn.Dropout(dropout)]
            d = h
        self.tower = nn.Sequential(*blocks, nn.Linear(d, 1))

    def forward(self, ids, dense):
        e = self.second_order(ids)
        fm = 0.5 * (e.sum(1) ** 2 - (e ** 2).sum(1)).sum(1)
        wide = self.first_order(ids).sum((1, 2))
        deep = self.tower(torch.cat([e.flatten(1), self.dense_norm(dense)], 1)).squeeze(1)
        return self.bias + wide + fm + deep


def make_param_groups(model, lr, emb_lr, weight_decay):
    embeddings, matrices, vectors = [], [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if ".table." in name:
            embeddings.append(p)
        elif p.ndim >= 2:
            matrices.append(p)
        elif name.endswith(".bias"):
            vectors.append(p)
    return [
        {"params": embeddings, "lr": emb_lr, "weight_decay": 0.0, "name": "embeddings"},
        {"params": matrices, "lr": lr, "weight_decay": weight_decay, "name": "matrices"},
        {"params": vectors, "lr": lr, "weight_decay": 0.0, "name": "vectors"},
    ]


def prepare(path, label):
    df = pd.read_csv(path)
    y = df.pop(label).to_numpy(np.float32)
    cat = [c for c in df.columns if not pd.api.types.is_float_dtype(df[c])]
    num = [c for c in df.columns if c not in cat]
    ids, cards = [], []
    for c in cat:
        codes, uniq = pd.factorize(df[c])
        ids.append(codes)
        cards.append(len(uniq) + 1)
    ids = np.where(np.stack(ids, 1) < 0, np.array(cards) - 1, np.stack(ids, 1))
    dense = df[num].fillna(0.0).to_numpy(np.float32)
    cut = int(0.8 * len(y))
    mu, sd = dense[:cut].mean(0), dense[:cut].std(0) + 1e-6
    dense = (dense - mu) / sd
    tensors = (torch.from_numpy(ids).long(), torch.from_numpy(dense), torch.from_numpy(y))
    return (TensorDataset(*(t[:cut] for t in tensors)), TensorDataset(*(t[cut:] for t in tensors)),
            cards, len(num))


def auc(score, y):
    order = score.argsort()
    rank = torch.empty_like(score)
    rank[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    pos = y.sum()
    neg = len(y) - pos
    return ((rank[y == 1].sum() - pos * (pos + 1) / 2) / (pos * neg)).item()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    out, gold = [], []
    for ids, dense, y in loader:
        out.append(model(ids.to(device), dense.to(device)).cpu())
        gold.append(y)
    out, gold = torch.cat(out).double(), torch.cat(gold)
    ll = nn.functional.binary_cross_entropy_with_logits(out, gold.double()).item()
    return ll, auc(out, gold)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--label", default="click")
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=512)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--emb-lr", type=float, default=5e-3)
    ap.add_argument("--weight-decay", type=float, default=1e-2)
    ap.add_argument("--out", default="ctr.pt")
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_ds, val_ds, cards, n_dense = prepare(args.csv, args.label)
    model = DeepFM(cards, n_dense).to(device)
    groups = make_param_groups(model, args.lr, args.emb_lr, args.weight_decay)
    for g in groups:
        logger.info("group %-10s %6d tensors lr %.4g wd %.3g", g["name"], len(g["params"]), g["lr"],
                    g["weight_decay"])
    optimizer = torch.optim.AdamW(groups)
    train_dl = DataLoader(train_ds, args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, 4096)
    total = args.epochs * len(train_dl)
    sched = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, total_iters=total)
    lossf = nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        model.train()
        for ids, dense, y in train_dl:
            loss = lossf(model(ids.to(device), dense.to(device)), y.to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            for g in optimizer.param_groups:
                nn.utils.clip_grad_norm_(g["params"], 1.0)
            optimizer.step()
            sched.step()
        ll, a = evaluate(model, val_dl, device)
        logger.info("epoch %d train %.4f val logloss %.4f auc %.4f", epoch, loss.item(), ll, a)
    torch.save({"model": model.state_dict(), "cards": cards}, args.out)


if __name__ == "__main__":
    main()
