"""Pump failure classifier, tabular. OneCycle + gradient accumulation."""
import csv
import math
import pathlib
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CSV = pathlib.Path(__file__).parent / "data" / "sensors.csv"
EPOCHS, BATCH, ACCUM, MAX_LR = 12, 16, 4, 0.15


def load():
    with CSV.open() as f:
        rows = list(csv.DictReader(f))
    cols = [c for c in rows[0] if c != "label"]
    x = torch.tensor([[float(r[c]) for c in cols] for r in rows])
    y = torch.tensor([float(r["label"]) for r in rows])
    return x, y


def windows(loader, k):
    """Group k consecutive batches; the last group may be shorter."""
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == k:
            yield group
            group = []
    if group:
        yield group


def evaluate(model, x, y):
    model.eval()
    with torch.inference_mode():
        out = model(x).squeeze(1)
        return nn.functional.binary_cross_entropy_with_logits(out, y).item(), ((out > 0) == (y > 0.5)).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, y = load()
    n_train = 480
    mu, sd = x[:n_train].mean(0), x[:n_train].std(0)
    x = (x - mu) / sd
    train = DataLoader(TensorDataset(x[:n_train], y[:n_train]), batch_size=BATCH, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.SGD(model.parameters(), lr=MAX_LR / 25, momentum=0.9, weight_decay=1e-4)
    steps_per_epoch = math.ceil(len(train) / ACCUM)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=MAX_LR, total_steps=EPOCHS * steps_per_epoch,
                                                pct_start=0.3, anneal_strategy="cos")
    for ep in range(EPOCHS):
        model.train()
        for group in windows(train, ACCUM):
            n = sum(len(b[1]) for b in group)
            opt.zero_grad()
            for xb, yb in group:
                loss = nn.functional.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb, reduction="sum") / n
                loss.backward()
            opt.step()
            sched.step()
        vl, va = evaluate(model, x[n_train:], y[n_train:])
        print(f"{ep:2d} lr={sched.get_last_lr()[0]:.5f} val_loss={vl:.4f} val_acc={va:.3f}")


main()
