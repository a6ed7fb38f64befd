"""Customer segments: distil a wide teacher into a tiny student for the CRM plugin."""
import argparse
import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    csv: str = "data/churn.csv"
    epochs_teacher: int = 25
    epochs_student: int = 40
    batch_size: int = 64
    lr: float = 2e-3
    temperature: float = 3.0
    alpha: float = 0.9          # weight of the soft targets
    patience: int = 8
    seed: int = 3


def load(cfg):
    df = pd.read_csv(cfg.csv)
    labels = sorted(df["segment"].unique())
    y = df["segment"].map({s: i for i, s in enumerate(labels)}).to_numpy()
    num = ["tenure", "monthly", "calls", "data_gb", "age"]
    cat = pd.get_dummies(df[["contract", "region"]]).to_numpy(dtype=np.float32)
    rng = np.random.default_rng(cfg.seed)
    idx = rng.permutation(len(df))
    n_test, n_val = len(df) // 5, len(df) // 5
    te, va, tr = idx[:n_test], idx[n_test:n_test + n_val], idx[n_test + n_val:]
    xn = df[num].to_numpy(dtype=np.float32)
    mu, sd = xn[tr].mean(0), xn[tr].std(0)
    x = np.concatenate([(xn - mu) / sd, cat], 1).astype(np.float32)

    def ds(i):
        return TensorDataset(torch.from_numpy(x[i]), torch.from_numpy(y[i]))
    return ds(tr), ds(va), ds(te), x.shape[1], labels


def mlp(d_in, hidden, d_out, p=0.0):
    layers, d = [], d_in
    for h in hidden:
        layers += [nn.Linear(d, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(p)]
        d = h
    return nn.Sequential(*layers, nn.Linear(d, d_out))


def kd_loss(student_logits, teacher_logits, T):
    log_p = F.log_softmax(student_logits / T, dim=-1)
    q = F.softmax(teacher_logits / T, dim=-1)
    return F.kl_div(log_p, q, reduction="batchmean") * T * T


@torch.no_grad()
def evaluate(model, ds):
    model.eval()
    x, y = ds.tensors
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, -1.0, 0, None

    def update(self, score, model):
        if score > self.best:
            self.best, self.bad = score, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def fit(model, train, val, epochs, cfg, teacher=None):
    loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-3)
    stopper = EarlyStopping(cfg.patience)
    if teacher is not None:
        teacher.eval()
        for p in teacher.parameters():
            p.requires_grad_(False)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            logits = model(x)
            if teacher is None:
                loss = F.cross_entropy(logits, y, label_smoothing=0.05)
            else:
                with torch.no_grad():
                    t_logits = teacher(x)
                soft = kd_loss(logits, t_logits, cfg.temperature)
                hard = F.cross_entropy(logits, y)
                loss = cfg.alpha * soft + (1 - cfg.alpha) * hard
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        vloss, vacc = evaluate(model, val)
        if epoch % 5 == 0:
            print(f"  epoch {epoch:3d} train {total / len(loader):.4f} val_nll {vloss:.4f} val_acc {vacc:.4f}")
        if stopper.update(vacc, model):
            print(f"  early stop at epoch {epoch}")
            break
    model.load_state_dict(stopper.state)
    return model


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", default=Config.csv)
    ap.add_argument("--temperature", type=float, default=Config.temperature)
    ap.add_argument("--alpha", type=float, default=Config.alpha)
    a = ap.parse_args()
    cfg = Config(csv=a.csv, temperature=a.temperature, alpha=a.alpha)
    torch.manual_seed(cfg.seed)

    train, val, test, d_in, labels = load(cfg)
    print("teacher")
    teacher = fit(mlp(d_in, [128, 128], len(labels), p=0.2), train, val, cfg.epochs_teacher, cfg)
    print("student")
    student = fit(mlp(d_in, [16], len(labels)), train, val, cfg.epochs_student, cfg, teacher=teacher)

    for name, m in (("teacher", teacher), ("student", student)):
        nll, acc = evaluate(m, test)
        print(f"{name}: test nll {nll:.4f} acc {acc:.4f}")
    with torch.no_grad():
        x = test.tensors[0]
        agree = (teacher(x).argmax(1) == student(x).argmax(1)).float().mean()
    print(f"agreement with teacher {agree:.4f}")
    torch.save({"state": student.state_dict(), "labels": labels}, "student_segments.pt")


if __name__ == "__main__":
    main()
