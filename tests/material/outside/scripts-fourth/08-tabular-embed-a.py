# Tabular click-through model: categorical embeddings + MLP, trained from a CSV.
import csv
import json
import sys
from collections import defaultdict

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {
    "csv": "train.csv",
    "target": "clicked",
    "categorical": ["site", "device", "hour", "campaign"],
    "numeric": ["bid", "age", "n_prev"],
    "emb_dim": 16,
    "hidden": [256, 128],
    "dropout": 0.2,
    "batch_size": 1024,
    "epochs": 15,
    "lr": 1e-3,
    "emb_lr": 5e-3,
    "weight_decay": 1e-2,
    "clip": 1.0,
    "val_frac": 0.15,
    "out": "ctr.pt",
}


def load(cfg):
    vocab = {c: defaultdict(int) for c in cfg["categorical"]}
    cats, nums, ys = [], [], []
    with open(cfg["csv"], newline="") as f:
        for row in csv.DictReader(f):
            rec = []
            for c in cfg["categorical"]:
                v = vocab[c]
                if row[c] not in v:
                    v[row[c]] = len(v) + 1  # 0 is "unknown"
                rec.append(v[row[c]])
            cats.append(rec)
            nums.append([float(row[c] or 0) for c in cfg["numeric"]])
            ys.append(float(row[cfg["target"]]))
    cards = [len(vocab[c]) + 1 for c in cfg["categorical"]]
    return torch.tensor(cats), torch.tensor(nums), torch.tensor(ys), cards, vocab


class CTRModel(nn.Module):
    def __init__(self, cards, n_num, emb_dim, hidden, dropout):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(c, emb_dim, padding_idx=0) for c in cards)
        self.num_norm = nn.LayerNorm(n_num)
        dims = [len(cards) * emb_dim + n_num] + list(hidden)
        layers = []
        for a, b in zip(dims[:-1], dims[1:]):
            layers += [nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU(), nn.Dropout(dropout)]
        self.mlp = nn.Sequential(*layers)
        self.head = nn.Linear(dims[-1], 1)

    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embeddings)]
        x = torch.cat(e + [self.num_norm(num)], dim=1)
        return self.head(self.mlp(x)).squeeze(1)


def build_optimizer(model, cfg):
    """weights decayed, biases/norms not, embeddings undecayed with their own lr"""
    emb_params = list(model.embeddings.parameters())
    emb_ids = {id(p) for p in emb_params}
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad or id(p) in emb_ids:
            continue
        (no_decay if p.ndim == 1 else decay).append(p)
    groups = [
        {"params": decay, "weight_decay": cfg["weight_decay"]},
        {"params": no_decay, "weight_decay": 0.0},
        {"params": emb_params, "weight_decay": 0.0, "lr": cfg["emb_lr"]},
    ]
    return torch.optim.AdamW(groups, lr=cfg["lr"])


def auc(scores, y):
    order = scores.argsort()
    ranks = torch.empty_like(scores)
    ranks[order] = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    pos = y == 1
    n1, n0 = pos.sum().item(), (~pos).sum().item()
    if n1 == 0 or n0 == 0:
        return float("nan")
    return (ranks[pos].sum().item() - n1 * (n1 + 1) / 2) / (n1 * n0)


def main(cfg):
    torch.manual_seed(cfg.get("seed", 42))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cat, num, y, cards, vocab = load(cfg)
    perm = torch.randperm(len(y))
    n_val = int(len(y) * cfg["val_frac"])
    va, tr = perm[:n_val], perm[n_val:]
    mu, sd = num[tr].mean(0), num[tr].std(0).clamp_min(1e-6)
    num = (num - mu) / sd

    train_dl = DataLoader(TensorDataset(cat[tr], num[tr], y[tr]), cfg["batch_size"], shuffle=True)
    model = CTRModel(cards, num.size(1), cfg["emb_dim"], cfg["hidden"], cfg["dropout"]).to(device)
    optimizer = build_optimizer(model, cfg)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["epochs"])
    criterion = nn.BCEWithLogitsLoss()

    best = 0.0
    for epoch in range(cfg["epochs"]):
        model.train()
        tot = 0.0
        for c, x, t in train_dl:
            c, x, t = c.to(device), x.to(device), t.to(device)
            optimizer.zero_grad()
            loss = criterion(model(c, x), t)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            optimizer.step()
            tot += loss.item() * len(t)
        scheduler.step()

        model.eval()
        with torch.no_grad():
            s = torch.cat([model(cat[i].to(device), num[i].to(device)).cpu() for i in va.split(4096)])
        a = auc(s, y[va])
        print(f"epoch {epoch + 1:2d}  train logloss {tot / len(tr):.5f}  val AUC {a:.5f}")
        if a > best:
            best = a
            torch.save({"state": model.state_dict(), "mu": mu, "sd": sd,
                        "vocab": {k: dict(v) for k, v in vocab.items()}}, cfg["out"])


if __name__ == "__main__":
    cfg = dict(CONFIG)
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as f:
            cfg.update(json.load(f))
    main(cfg)
