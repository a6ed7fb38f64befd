"""Multi-task learning on machine telemetry: remaining life (regression), fault (binary), mode (3-way).

Task losses are balanced with learned homoscedastic uncertainty (Kendall et al., 2018).
"""
import argparse
import csv

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["temperature", "vibration", "pressure", "hours", "load"]
TASKS = ["life", "fault", "mode"]


def read_csv(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    x = torch.tensor([[float(r[c]) for c in FEATURES] for r in rows])
    life = torch.tensor([float(r["remaining_life"]) for r in rows])
    fault = torch.tensor([float(r["fault"]) for r in rows])
    mode = torch.tensor([int(r["mode"]) for r in rows])
    return x, life, fault, mode


class MultiTaskNet(nn.Module):
    def __init__(self, n_in, hidden=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.life = nn.Linear(hidden, 1)
        self.fault = nn.Linear(hidden, 1)
        self.mode = nn.Linear(hidden, 3)

    def forward(self, x):
        h = self.trunk(x)
        return {"life": self.life(h).squeeze(-1), "fault": self.fault(h).squeeze(-1), "mode": self.mode(h)}


class UncertaintyWeighting(nn.Module):
    """sum_t exp(-s_t) * L_t + s_t, with one learned s_t a task."""

    def __init__(self, tasks):
        super().__init__()
        self.log_vars = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in tasks})

    def forward(self, losses):
        return sum(torch.exp(-self.log_vars[t]) * loss + self.log_vars[t] for t, loss in losses.items())


def task_losses(out, life, fault, mode):
    return {
        "life": F.mse_loss(out["life"], life),
        "fault": F.binary_cross_entropy_with_logits(out["fault"], fault),
        "mode": F.cross_entropy(out["mode"], mode),
    }


def run_epoch(model, weighting, loader, optimizer, device):
    model.train()
    sums = dict.fromkeys(TASKS, 0.0)
    for x, *targets in loader:
        x, targets = x.to(device), [t.to(device) for t in targets]
        losses = task_losses(model(x), *targets)
        loss = weighting(losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for t in TASKS:
            sums[t] += losses[t].item()
    return {t: s / len(loader) for t, s in sums.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True, help="machines.csv")
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--batch-size", type=int, default=32)
    args = ap.parse_args()

    torch.manual_seed(2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, life, fault, mode = read_csv(args.data)
    n_train = int(0.8 * len(x))
    mu, sd = x[:n_train].mean(0), x[:n_train].std(0)
    x = (x - mu) / sd
    life = (life - life[:n_train].mean()) / life[:n_train].std()

    train = TensorDataset(x[:n_train], life[:n_train], fault[:n_train], mode[:n_train])
    loader = DataLoader(train, batch_size=args.batch_size, shuffle=True)
    held_out = [t[n_train:].to(device) for t in (life, fault, mode)]

    model = MultiTaskNet(x.size(1)).to(device)
    weighting = UncertaintyWeighting(TASKS).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)

    for epoch in range(1, args.epochs + 1):
        train_losses = run_epoch(model, weighting, loader, optimizer, device)
        if epoch % 5 == 0:
            model.eval()
            with torch.no_grad():
                out = model(x[n_train:].to(device))
                test = task_losses(out, *held_out)
            sigmas = {t: round(weighting.log_vars[t].mul(0.5).exp().item(), 3) for t in TASKS}
            print(
                f"epoch {epoch}: "
                + " ".join(f"{t} {train_losses[t]:.3f}/{test[t].item():.3f}" for t in TASKS)
                + f" sigma {sigmas}"
            )


if __name__ == "__main__":
    main()
