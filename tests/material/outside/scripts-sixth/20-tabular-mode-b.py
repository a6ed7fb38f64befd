"""Churn classifier on a CSV (last column is the target) with early stopping."""
import argparse
import copy
import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_table(path):
    if os.path.exists(path):
        raw = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=np.float32)
        return raw[:, :-1], raw[:, -1]
    rng = np.random.default_rng(12)
    x = rng.standard_normal((4000, 20)).astype(np.float32)
    score = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * x[:, 3] + 0.5 * rng.standard_normal(4000)
    return x, (score > 0.2).astype(np.float32)


class ChurnNet(nn.Module):
    def __init__(self, features, hidden=(128, 64), dropout=0.3):
        super().__init__()
        layers, width = [nn.BatchNorm1d(features)], features
        for h in hidden:
            layers += [nn.Linear(width, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(dropout)]
            width = h
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x).squeeze(1)


class Trainer:
    def __init__(self, model, args, device):
        self.model = model.to(device)
        self.device = device
        self.args = args
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.5, patience=2)
        self.criterion = nn.BCEWithLogitsLoss()
        self.step = 0

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        losses, correct, n = 0.0, 0, 0
        for x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            logits = self.model(x)
            losses += self.criterion(logits, y).item() * len(y)
            correct += ((logits > 0) == (y > 0.5)).sum().item()
            n += len(y)
        self.model.train()
        return losses / n, correct / n

    def fit(self, train_loader, val_loader):
        best, best_state, waited = float("inf"), None, 0
        self.model.train()
        for epoch in range(self.args.epochs):
            running = 0.0
            for x, y in train_loader:
                x, y = x.to(self.device), y.to(self.device)
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                self.step += 1
                running += loss.item()
            val_loss, val_acc = self.validate(val_loader)
            self.scheduler.step(val_loss)
            print(f"epoch {epoch:2d} train {running / len(train_loader):.4f} val {val_loss:.4f} acc {val_acc:.4f}")
            if val_loss < best - 1e-4:
                best, waited = val_loss, 0
                best_state = copy.deepcopy(self.model.state_dict())
            else:
                waited += 1
                if waited >= self.args.patience:
                    print("early stop")
                    break
        self.model.load_state_dict(best_state)
        return best


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--csv", default="churn.csv")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--patience", type=int, default=6)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = load_table(args.csv)
    order = np.random.default_rng(args.seed).permutation(len(x))
    x, y = torch.from_numpy(x[order]), torch.from_numpy(y[order])
    cut = int(0.8 * len(x))
    train = DataLoader(TensorDataset(x[:cut], y[:cut]), args.batch, shuffle=True, drop_last=True)
    val = DataLoader(TensorDataset(x[cut:], y[cut:]), 512)
    trainer = Trainer(ChurnNet(x.size(1)), args, device)
    best = trainer.fit(train, val)
    print(f"best val loss {best:.4f}")
    torch.save(trainer.model.state_dict(), "churn.pt")


if __name__ == "__main__":
    main()
