"""Multi-task face attributes: age (regression), sex (binary), ethnicity (5 classes).

Task losses are combined with learned homoscedastic uncertainty weights (Kendall et al., 2018).
"""
import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class UncertaintyWeighting(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.log_var = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in tasks})

    def forward(self, losses):
        total = 0.0
        for name, value in losses.items():
            s = self.log_var[name]
            total = total + torch.exp(-s) * value + 0.5 * s
        return total

    def weights(self):
        return {k: round(float(torch.exp(-v)), 3) for k, v in self.log_var.items()}


class SharedTrunk(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Conv2d(2 * width, 4 * width, 3, 2, 1), nn.BatchNorm2d(4 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2),
        )
        d = 16 * width
        self.age, self.sex, self.eth = nn.Linear(d, 1), nn.Linear(d, 1), nn.Linear(d, 5)

    def forward(self, x):
        h = self.trunk(x)
        return {"age": self.age(h).squeeze(1), "sex": self.sex(h).squeeze(1), "eth": self.eth(h)}


def task_losses(out, age, sex, eth):
    return {
        "age": F.smooth_l1_loss(out["age"], age),
        "sex": F.binary_cross_entropy_with_logits(out["sex"], sex),
        "eth": F.cross_entropy(out["eth"], eth),
    }


def load(path):
    if os.path.exists(path):
        d = torch.load(path)
        return TensorDataset(d["x"].float(), d["age"].float(), d["sex"].float(), d["eth"].long())
    g = torch.Generator().manual_seed(0)
    n = 1500
    age, sex, eth = torch.rand(n, generator=g), torch.randint(0, 2, (n,), generator=g), torch.randint(0, 5, (n,), generator=g)
    x = 0.4 * torch.randn(n, 1, 32, 32, generator=g)
    x[:, 0, :8] += 2 * age[:, None, None]
    x[:, 0, 8:16, :16] += sex[:, None, None].float()
    for k in range(5):
        x[eth == k, 0, 16 + 3 * k : 19 + 3 * k] += 1.0
    return TensorDataset(x, 10 * age, sex.float(), eth)


@torch.no_grad()
def report(model, loader, device):
    model.eval()
    mae = sex_ok = eth_ok = n = 0
    for x, age, sex, eth in loader:
        out = {k: v.cpu() for k, v in model(x.to(device)).items()}
        mae += (out["age"] - age).abs().sum().item()
        sex_ok += ((out["sex"] > 0) == (sex > 0.5)).sum().item()
        eth_ok += (out["eth"].argmax(1) == eth).sum().item()
        n += len(age)
    return mae / n, sex_ok / n, eth_ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="faces.pt")
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--lr-weights", type=float, default=1e-2)
    ap.add_argument("--logdir", default="", help="tensorboard directory")
    args = ap.parse_args()
    torch.manual_seed(21)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    writer = None
    if args.logdir:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(args.logdir)
    data = load(args.data)
    n_val = len(data) // 5
    train, val = random_split(data, [len(data) - n_val, n_val])
    train_dl, val_dl = DataLoader(train, args.batch, shuffle=True, drop_last=True), DataLoader(val, 256)

    model = SharedTrunk().to(device)
    weighting = UncertaintyWeighting(["age", "sex", "eth"]).to(device)
    opt = torch.optim.Adam(
        [
            {"params": model.parameters(), "lr": args.lr},
        ]
    )
    for epoch in range(args.epochs):
        model.train()
        for x, age, sex, eth in train_dl:
            out = model(x.to(device))
            losses = task_losses(out, age.to(device), sex.to(device), eth.to(device))
            loss = weighting(losses)
            opt.zero_grad()
            loss.backward()
            opt.step()
        mae, s, e = report(model, val_dl, device)
        print(f"epoch {epoch} MAE {mae:.3f} sex {s:.3f} eth {e:.3f} weights {weighting.weights()}")
        if writer:
            writer.add_scalars("val", {"mae": mae, "sex": s, "eth": e}, epoch)
    torch.save({"model": model.state_dict(), "weighting": weighting.state_dict()}, "multitask.pt")


if __name__ == "__main__":
    main()
