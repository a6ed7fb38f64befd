# House price regression with early stopping.
import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    """Stops when the validation loss has not improved for `patience` epochs
    and remembers the weights of the best epoch."""

    def __init__(self, patience=15, min_delta=1e-4):
        self.patience = patience
        self.min_delta = min_delta
        self.best_loss = float("inf")
        self.best_epoch = -1
        self.best_state = None
        self.counter = 0

    def __call__(self, val_loss, model, epoch):
        if val_loss < self.best_loss - self.min_delta:
            self.best_loss = val_loss
            self.best_epoch = epoch
            self.best_state = model.state_dict()
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience

    def restore(self, model):
        model.load_state_dict(self.best_state)


def build_model(n_in, hidden=(64, 64)):
    layers = []
    for h in hidden:
        layers += [nn.Linear(n_in, h), nn.SiLU()]
        n_in = h
    layers.append(nn.Linear(n_in, 1))
    return nn.Sequential(*layers)


def load_table(path, target):
    df = pd.read_csv(path)
    y = df.pop(target).to_numpy(dtype=np.float32)
    x = df.to_numpy(dtype=np.float32)
    return x, y


def mse_on(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x).squeeze(-1), y).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--target", default="price")
    ap.add_argument("--max-epochs", type=int, default=150)
    ap.add_argument("--patience", type=int, default=12)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()

    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    x, y = load_table(args.csv, args.target)
    perm = np.random.default_rng(42).permutation(len(x))
    n_val = len(x) // 4
    val_idx, tr_idx = perm[:n_val], perm[n_val:]
    mu, sd = x[tr_idx].mean(0), x[tr_idx].std(0) + 1e-8
    y_mu, y_sd = y[tr_idx].mean(), y[tr_idx].std()
    x = torch.from_numpy((x - mu) / sd)
    y = torch.from_numpy((y - y_mu) / y_sd)
    train_loader = DataLoader(TensorDataset(x[tr_idx], y[tr_idx]), batch_size=32, shuffle=True)
    x_val, y_val = x[val_idx].to(device), y[val_idx].to(device)

    model = build_model(x.shape[1]).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=6)
    stopper = EarlyStopping(patience=args.patience)

    for epoch in range(args.max_epochs):
        model.train()
        total = 0.0
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            loss = nn.functional.mse_loss(model(xb).squeeze(-1), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
        val_loss = mse_on(model, x_val, y_val)
        plateau.step(val_loss)
        if epoch % 5 == 0:
            print(f"[{epoch:3d}] train {total / len(tr_idx):.4f}  val {val_loss:.4f}  lr {opt.param_groups[0]['lr']:.1e}")
        if stopper(val_loss, model, epoch):
            print(f"stopping at epoch {epoch}, best was {stopper.best_epoch}")
            break

    stopper.restore(model)
    final = mse_on(model, x_val, y_val)
    print(f"best val mse {stopper.best_loss:.4f} (rmse {np.sqrt(final) * y_sd:.2f} in target units)")


if __name__ == "__main__":
    main()
