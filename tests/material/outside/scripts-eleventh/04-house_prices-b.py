import argparse
import copy
import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    csv: str = "houses.csv"
    target: str = "price"
    hidden: int = 256
    depth: int = 3
    dropout: float = 0.1
    lr: float = 1e-3
    weight_decay: float = 1e-3
    batch_size: int = 256
    epochs: int = 60
    ema_decay: float = 0.998
    seed: int = 0
    out: str = "house_model.pt"
    quantiles: list = field(default_factory=lambda: [0.1, 0.5, 0.9])


def prepare(cfg):
    df = pd.read_csv(cfg.csv).dropna(subset=[cfg.target])
    y = np.log1p(df.pop(cfg.target).to_numpy(dtype=np.float32))
    cat_cols = [c for c in df.columns if not pd.api.types.is_numeric_dtype(df[c])]
    num_cols = [c for c in df.columns if c not in cat_cols]
    rng = np.random.default_rng(cfg.seed)
    order = rng.permutation(len(df))
    n_val = int(0.15 * len(df))
    va, tr = order[:n_val], order[n_val:]

    num = df[num_cols].to_numpy(dtype=np.float32)
    mu, sd = np.nanmean(num[tr], 0), np.nanstd(num[tr], 0) + 1e-6
    num = np.nan_to_num((num - mu) / sd)
    cats, cards = [], []
    for c in cat_cols:
        codes, uniques = pd.factorize(df[c])
        cats.append(codes + 1)
        cards.append(len(uniques) + 1)
    cat = np.stack(cats, 1) if cats else np.zeros((len(df), 0), dtype=np.int64)
    y_mu, y_sd = y[tr].mean(), y[tr].std()
    y = (y - y_mu) / y_sd

    def pack(idx):
        return TensorDataset(torch.from_numpy(num[idx]).float(), torch.from_numpy(cat[idx]).long(),
                             torch.from_numpy(y[idx]).float())

    return pack(tr), pack(va), num.shape[1], cards, (float(y_mu), float(y_sd))


class TabularNet(nn.Module):
    def __init__(self, n_num, cards, cfg):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, min(32, (c + 1) // 2)) for c in cards])
        d = n_num + sum(e.embedding_dim for e in self.embs)
        layers = []
        for _ in range(cfg.depth):
            layers += [nn.Linear(d, cfg.hidden), nn.LayerNorm(cfg.hidden), nn.GELU(), nn.Dropout(cfg.dropout)]
            d = cfg.hidden
        self.mlp = nn.Sequential(*layers, nn.Linear(d, len(cfg.quantiles)))

    def forward(self, num, cat):
        parts = [num] + [e(cat[:, i]) for i, e in enumerate(self.embs)]
        return self.mlp(torch.cat(parts, 1))


class PinballLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.register_buffer("q", torch.tensor(quantiles))

    def forward(self, pred, y):
        err = y[:, None] - pred
        return torch.maximum(self.q * err, (self.q - 1) * err).mean()


class WeightAverager:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.backup = None

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1.0 - self.decay)

    def swap_in(self, model):
        self.backup = copy.deepcopy(model.state_dict())
        model.load_state_dict(self.shadow)

    def swap_out(self, model):
        model.load_state_dict(self.backup)
        self.backup = None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", help="json file with overrides")
    cli = ap.parse_args()
    cfg = Config(**(json.load(open(cli.config)) if cli.config else {}))
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_ds, val_ds, n_num, cards, y_stats = prepare(cfg)
    train_dl = DataLoader(train_ds, cfg.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, 1024)

    model = TabularNet(n_num, cards, cfg).to(device)
    criterion = PinballLoss(cfg.quantiles).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg.epochs * len(train_dl))
    avg = WeightAverager(model, cfg.ema_decay)

    best = float("inf")
    for epoch in range(cfg.epochs):
        model.train()
        tot = 0.0
        for num, cat, y in train_dl:
            num, cat, y = num.to(device), cat.to(device), y.to(device)
            loss = criterion(model(num, cat), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            avg.update(model)
            tot += loss.item()

        avg.swap_in(model)
        model.eval()
        with torch.no_grad():
            s = n = 0
            for num, cat, y in val_dl:
                s += criterion(model(num.to(device), cat.to(device)), y.to(device)).item() * len(y)
                n += len(y)
        val = s / n
        if val < best:
            best = val
            torch.save({"model": model.state_dict(), "cfg": vars(cfg), "y_stats": y_stats}, cfg.out)
        avg.swap_out(model)
        print(f"epoch {epoch + 1:3d}  train {tot / len(train_dl):.4f}  val(ema) {val:.4f}  best {best:.4f}")


if __name__ == "__main__":
    main()
