"""Hourly load forecasting; training can be stopped and resumed from a checkpoint.

    python 19-resume.py --data data/energy.csv --stop-after 6 --save data/energy_ckpt.pt
    python 19-resume.py --data data/energy.csv --resume data/energy_ckpt.pt
"""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

WINDOW = 24


def load_series(path):
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
    hour, temp, load = table.T
    feats = np.stack(
        [np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24), (temp - temp.mean()) / temp.std()], 1
    )
    load = (load - load.mean()) / load.std()
    return feats.astype(np.float32), load


def make_windows(feats, load):
    xs, ys = [], []
    for t in range(WINDOW, len(load)):
        past = load[t - WINDOW : t]
        xs.append(np.concatenate([past, feats[t]]))
        ys.append(load[t])
    return torch.from_numpy(np.stack(xs)), torch.tensor(ys)


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    tmp = path + ".tmp"
    torch.save(
        {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
        tmp,
    )
    os.replace(tmp, path)


def load_checkpoint(path, model, scheduler, device):
    ckpt = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(ckpt["model"])
    scheduler.load_state_dict(ckpt["scheduler"])
    return ckpt["epoch"] + 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--resume", default=None, help="checkpoint to continue from")
    ap.add_argument("--save", default=None, help="where to write the checkpoint after each epoch")
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--stop-after", type=int, default=None, help="leave after this many epochs (time-limited queue)")
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()

    torch.manual_seed(10)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = make_windows(*load_series(args.data))
    n_train = int(0.8 * len(x))
    x_test, y_test = x[n_train:].to(device), y[n_train:].to(device)

    model = nn.Sequential(nn.Linear(x.size(1), 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)
    start_epoch = 0
    if args.resume:
        start_epoch = load_checkpoint(args.resume, model, scheduler, device)
        print(f"resumed from {args.resume} at epoch {start_epoch}")

    for epoch in range(start_epoch, args.epochs):
        # shuffling depends on the epoch only, so a resumed run sees the same batches
        g = torch.Generator().manual_seed(1000 + epoch)
        loader = DataLoader(TensorDataset(x[:n_train], y[:n_train]), batch_size=16, shuffle=True, generator=g)
        model.train()
        total = 0.0
        for xb, yb in loader:
            xb, yb = xb.to(device), yb.to(device)
            loss = nn.functional.huber_loss(model(xb).squeeze(1), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(xb)
        scheduler.step()

        model.eval()
        with torch.no_grad():
            mae = (model(x_test).squeeze(1) - y_test).abs().mean().item()
        print(f"epoch {epoch:2d} train {total / n_train:.4f} test mae {mae:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
        if args.save:
            save_checkpoint(args.save, epoch, model, optimizer, scheduler)
        if args.stop_after is not None and epoch + 1 >= args.stop_after:
            print("stopping early, resume later")
            break


if __name__ == "__main__":
    main()
