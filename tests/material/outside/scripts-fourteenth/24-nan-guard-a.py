"""Heteroscedastic regression; a few sensor rows are broken, so steps with bad gradients are skipped."""
import csv
import logging
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")


class Sensors(Dataset):
    cols = ("a", "b", "c", "d")

    def __init__(self, path, split):
        with open(path) as f:
            rows = list(csv.DictReader(f))
        rows = rows[:560] if split == "train" else rows[560:]
        self.x = torch.tensor([[float(r[c]) for c in self.cols] for r in rows])
        self.y = torch.tensor([float(r["target"]) for r in rows])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class MeanVar(nn.Module):
    def __init__(self, n_in=4, hid=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hid), nn.SiLU(), nn.Linear(hid, hid), nn.SiLU())
        self.mean, self.logvar = nn.Linear(hid, 1), nn.Linear(hid, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h).squeeze(-1), self.logvar(h).squeeze(-1).clamp(-6, 4)


def gaussian_nll(mu, logvar, y):
    return 0.5 * (logvar + (y - mu).pow(2) * torch.exp(-logvar)).mean()


def main():
    torch.manual_seed(14)
    train = DataLoader(Sensors("data/sensors.csv", "train"), batch_size=16, shuffle=True)
    val = Sensors("data/sensors.csv", "val")
    keep = ~torch.isnan(val.x).any(1)
    xv, yv = val.x[keep], val.y[keep]
    model = MeanVar()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(12):
        model.train()
        skipped, total, used = 0, 0.0, 0
        for x, y in train:
            mu, logvar = model(x)
            loss = gaussian_nll(mu, logvar, y)
            loss.backward()
            gnorm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            if not torch.isfinite(gnorm):
                skipped += 1
                continue
            opt.step()
            opt.zero_grad()
            total += loss.item()
            used += 1
        model.eval()
        with torch.no_grad():
            mu, _ = model(xv)
            rmse = (mu - yv).pow(2).mean().sqrt().item()
        log.info("epoch %d nll %.4f skipped %d rmse %.4f", epoch, total / max(used, 1), skipped, rmse)


if __name__ == "__main__":
    main()
