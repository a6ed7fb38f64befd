"""Human activity recognition from wrist IMU recordings.

imu/<subject>.csv with the columns ax,ay,az,gx,gy,gz,activity at 50 Hz.
The subjects named in TEST_SUBJECTS (or the last one) are held out.
"""
import argparse
import logging
import os

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None

CHANNELS = ["ax", "ay", "az", "gx", "gy", "gz"]
TEST_SUBJECTS = {"s09", "s10"}
logger = logging.getLogger("imu")


def windows(path, names, length, hop):
    df = pd.read_csv(path)
    x = df[CHANNELS].to_numpy(np.float32)
    y = df["activity"].map(names).to_numpy()
    xs, ys = [], []
    for s in range(0, len(x) - length + 1, hop):
        label = np.bincount(y[s:s + length]).argmax()
        xs.append(x[s:s + length].T)
        ys.append(label)
    return xs, ys


def load(root, length, hop):
    files = sorted(f for f in os.listdir(root) if f.endswith(".csv"))
    names = sorted(set().union(*(pd.read_csv(os.path.join(root, f))["activity"].unique() for f in files)))
    names = {a: i for i, a in enumerate(names)}
    held = {f for f in files if f[:-4] in TEST_SUBJECTS} or {files[-1]}
    parts = {True: ([], []), False: ([], [])}
    for f in files:
        xs, ys = windows(os.path.join(root, f), names, length, hop)
        parts[f in held][0].extend(xs)
        parts[f in held][1].extend(ys)
    to_t = lambda p: (torch.from_numpy(np.stack(p[0])), torch.tensor(p[1], dtype=torch.long))
    (xtr, ytr), (xte, yte) = to_t(parts[False]), to_t(parts[True])
    mean, std = xtr.mean((0, 2), keepdim=True), xtr.std((0, 2), keepdim=True)
    return TensorDataset((xtr - mean) / std, ytr), TensorDataset((xte - mean) / std, yte), names


class ConvGRU(nn.Module):
    def __init__(self, classes, width=64):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(6, width, 7, 2, 3), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 5, 2, 2), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2))
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * width, classes)

    def forward(self, x):
        h, _ = self.gru(self.conv(x).transpose(1, 2))
        return self.fc(h.mean(1))


def macro_f1(conf):
    tp = conf.diag()
    f1 = 2 * tp / (conf.sum(0) + conf.sum(1)).clamp(min=1)
    return f1[conf.sum(1) > 0].mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="imu")
    ap.add_argument("--window", type=int, default=128)
    ap.add_argument("--hop", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--width", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--warmup", type=int, default=100, help="in optimizer steps")
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    train_set, test_set, names = load(args.root, args.window, args.hop)
    train = DataLoader(train_set, args.batch, shuffle=True, drop_last=True)
    test = DataLoader(test_set, 256)
    model = ConvGRU(len(names), args.width).to(device)
    bias = [p for p in model.parameters() if p.dim() == 1]
    weight = [p for p in model.parameters() if p.dim() > 1]
    optimizer = torch.optim.AdamW([{"params": weight, "weight_decay": 1e-2},
                                   {"params": bias, "weight_decay": 0.0, "lr": 2 * args.lr}], lr=args.lr)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    writer = SummaryWriter() if SummaryWriter is not None else None

    step = 0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train:
            if step < args.warmup:
                for group in optimizer.param_groups:
                    group["lr"] = group["initial_lr"] * (step + 1) / args.warmup
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            total += loss.item()
        model.eval()
        conf = torch.zeros(len(names), len(names))
        with torch.no_grad():
            for x, y in test:
                for t, p in zip(y, model(x.to(device)).argmax(1).cpu()):
                    conf[t, p] += 1
        f1 = macro_f1(conf)
        logger.info("epoch %d loss %.4f macro f1 %.4f", epoch, total / len(train), f1)
        if writer is not None:
            writer.add_scalar("loss", total / len(train), epoch)
            writer.add_scalar("f1", f1, epoch)
    torch.save({"model": model.state_dict(), "names": names}, "imu.pt")


if __name__ == "__main__":
    main()
