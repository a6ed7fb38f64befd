import csv
import os
import random

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CSV_PATH = "houses.csv"
HPARAMS = {"lr": 0.05, "epochs": 4, "batch_size": 16, "accumulation": 4, "seed": 1, "warmup": 5}


def write_csv(path, rows=600):
    rng = random.Random(0)
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["area", "rooms", "age", "distance", "floor", "price"])
        for _ in range(rows):
            area, rooms = rng.uniform(25, 180), rng.randint(1, 6)
            age, dist, floor = rng.uniform(0, 90), rng.uniform(0.2, 25), rng.randint(0, 8)
            price = 2.1 * area + 9 * rooms - 0.6 * age - 4 * dist + 1.5 * floor + 0.01 * area * rooms + rng.gauss(0, 8)
            w.writerow([f"{area:.1f}", rooms, f"{age:.1f}", f"{dist:.2f}", floor, f"{price:.2f}"])


def load_csv(path):
    with open(path) as f:
        rows = [[float(v) for v in r.values()] for r in csv.DictReader(f)]
    t = torch.tensor(rows)
    t = (t - t.mean(0)) / t.std(0)
    return t[:, :-1], t[:, -1:]


def main():
    accelerator = Accelerator(gradient_accumulation_steps=HPARAMS["accumulation"], cpu=not torch.cuda.is_available())
    torch.manual_seed(HPARAMS["seed"])
    if accelerator.is_local_main_process and not os.path.exists(CSV_PATH):
        write_csv(CSV_PATH)
    accelerator.wait_for_everyone()
    x, y = load_csv(CSV_PATH)
    train_dl = DataLoader(TensorDataset(x[:500], y[:500]), batch_size=HPARAMS["batch_size"], shuffle=True)
    val_dl = DataLoader(TensorDataset(x[500:], y[500:]), batch_size=100)

    model = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=HPARAMS["lr"], momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / HPARAMS["warmup"]))
    model, optimizer, train_dl, val_dl, scheduler = accelerator.prepare(model, optimizer, train_dl, val_dl, scheduler)

    for epoch in range(HPARAMS["epochs"]):
        model.train()
        running = torch.zeros(())
        for xb, yb in train_dl:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(xb), yb)
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            running += loss.detach().cpu()
        model.eval()
        with torch.no_grad():
            val = sum(nn.functional.mse_loss(model(xb), yb).item() for xb, yb in val_dl) / len(val_dl)
        accelerator.print(f"epoch {epoch} | train {running.item() / len(train_dl):.4f} | val {val:.4f} "
                          f"| lr {scheduler.get_last_lr()[0]:.3f}")


if __name__ == "__main__":
    main()
