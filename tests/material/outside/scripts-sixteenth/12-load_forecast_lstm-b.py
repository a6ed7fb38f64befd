"""Hourly load forecast with a stateful LSTM, truncated backpropagation through time."""
import argparse
import csv

import torch
import torch.nn as nn


def read_series(path):
    with open(path) as f:
        rows = list(csv.DictReader(f))
    x = torch.tensor([[float(r["load_kw"]), float(r["temp_c"])] for r in rows])
    return x


def to_streams(x, n_streams):
    """(time, features) -> (n_streams, time', features): parallel contiguous streams"""
    t = len(x) // n_streams
    return x[: t * n_streams].view(n_streams, t, -1)


class Forecaster(nn.Module):
    def __init__(self, n_in, hidden=32, layers=2):
        super().__init__()
        self.lstm = nn.LSTM(n_in, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.lstm(x, state)
        return self.head(h).squeeze(-1), state


def repackage(state):
    return None if state is None else tuple(s.detach() for s in state)


def train_epoch(model, params, optimizer, streams, bptt, clip):
    model.train()
    state = None
    total, n = 0.0, 0
    T = streams.size(1)
    for start in range(0, T - 1, bptt):
        stop = min(start + bptt, T - 1)
        x = streams[:, start:stop]
        y = streams[:, start + 1:stop + 1, 0]
        state = repackage(state)
        optimizer.zero_grad()
        pred, state = model(x, state)
        loss = nn.functional.mse_loss(pred, y)
        loss.backward()
        nn.utils.clip_grad_norm_(params, clip)
        optimizer.step()
        total += loss.item() * (stop - start)
        n += stop - start
    return total / n


@torch.no_grad()
def evaluate(model, series):
    model.eval()
    pred, _ = model(series[None, :-1])
    return nn.functional.mse_loss(pred[0], series[1:, 0]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("csv")
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--streams", type=int, default=8)
    ap.add_argument("--bptt", type=int, default=24)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--clip", type=float, default=0.25)
    args = ap.parse_args()

    raw = read_series(args.csv)
    cut = 1100
    mu, sd = raw[:cut].mean(0), raw[:cut].std(0)
    series = (raw - mu) / sd
    streams = to_streams(series[:cut], args.streams)

    model = Forecaster(2)
    params = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9)
    for epoch in range(1, args.epochs + 1):
        tr = train_epoch(model, params, optimizer, streams, args.bptt, args.clip)
        va = evaluate(model, series[cut:])
        print(f"epoch {epoch:2d}  train mse {tr:.4f}  valid mse {va:.4f}  (kW rmse {va ** 0.5 * sd[0].item():.2f})")


if __name__ == "__main__":
    main()
