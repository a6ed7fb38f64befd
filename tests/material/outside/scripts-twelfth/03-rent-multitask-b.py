import csv
import logging

import numpy as np
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("rent")

CSV = "data/housing.csv"
FEATURES = ["area", "age", "rooms", "dist", "floor", "income"]
MICRO = 8
ACCUM = 4
EPOCHS = 40
PATIENCE = 6

torch.manual_seed(3)
rng = np.random.default_rng(3)

with open(CSV, newline="") as f:
    rows = list(csv.DictReader(f))
X = np.array([[float(r[c]) for c in FEATURES] for r in rows], dtype=np.float32)
rent = np.array([float(r["rent"]) for r in rows], dtype=np.float32)
vacant = np.array([float(r["vacant"]) for r in rows], dtype=np.float32)

order = rng.permutation(len(X))
n_val = len(X) // 5
val_idx, tr_idx = order[:n_val], order[n_val:]
mu, sd = X[tr_idx].mean(0), X[tr_idx].std(0) + 1e-6
r_mu, r_sd = rent[tr_idx].mean(), rent[tr_idx].std()
X = torch.from_numpy((X - mu) / sd)
rent = torch.from_numpy((rent - r_mu) / r_sd)
vacant = torch.from_numpy(vacant)
tr_idx, val_idx = torch.from_numpy(tr_idx), torch.from_numpy(val_idx)


class TwoHead(nn.Module):
    def __init__(self, d, h=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(d, h), nn.LayerNorm(h), nn.GELU(), nn.Dropout(0.1), nn.Linear(h, h), nn.GELU()
        )
        self.rent = nn.Linear(h, 1)
        self.vacant = nn.Linear(h, 1)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        z = self.trunk(x)
        return self.rent(z).squeeze(-1), self.vacant(z).squeeze(-1)

    def loss(self, x, y_rent, y_vac):
        p_rent, p_vac = self(x)
        l_rent = nn.functional.mse_loss(p_rent, y_rent, reduction="sum")
        l_vac = nn.functional.binary_cross_entropy_with_logits(p_vac, y_vac, reduction="sum")
        losses = torch.stack([l_rent, l_vac])
        return (torch.exp(-self.log_var) * losses).sum() + 0.5 * len(x) * self.log_var.sum()


model = TwoHead(len(FEATURES))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
best, bad = float("inf"), 0

for epoch in range(EPOCHS):
    model.train()
    perm = tr_idx[torch.randperm(len(tr_idx))]
    micro = perm.split(MICRO)
    train_loss = 0.0
    opt.zero_grad()
    for i, idx in enumerate(micro):
        first = i - i % ACCUM
        in_window = sum(len(m) for m in micro[first : first + ACCUM])
        loss = model.loss(X[idx], rent[idx], vacant[idx])
        (loss / in_window).backward()
        train_loss += loss.item()
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()

    model.eval()
    with torch.no_grad():
        pr, pv = model(X[val_idx])
        mse = nn.functional.mse_loss(pr, rent[val_idx]).item()
        bce = nn.functional.binary_cross_entropy_with_logits(pv, vacant[val_idx]).item()
        acc = ((pv > 0).float() == vacant[val_idx]).float().mean().item()
    log.info("epoch %d train %.4f val mse %.4f bce %.4f acc %.3f",
             epoch, train_loss / len(tr_idx), mse, bce, acc)
    if mse + bce < best - 1e-4:
        best, bad = mse + bce, 0
        torch.save(model.state_dict(), "rent_best.pt")
    else:
        bad += 1
        if bad >= PATIENCE:
            log.info("early stop at epoch %d", epoch)
            break

model.load_state_dict(torch.load("rent_best.pt"))
log.info("best val %.4f", best)
