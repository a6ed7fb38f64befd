"""
Prognose der Netzlast mit einem LSTM.

Eingabe: CSV mit den Spalten `zeit` und `last` (Stundenwerte).
Aufruf:  python prognose.py --csv last.csv
"""
import argparse
import json
import math

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class LastDatensatz(Dataset):
    def __init__(self, merkmale, ziel, fenster, vorlauf):
        self.m = torch.from_numpy(merkmale)
        self.z = torch.from_numpy(ziel)
        self.fenster, self.vorlauf = fenster, vorlauf

    def __len__(self):
        return len(self.z) - self.fenster - self.vorlauf + 1

    def __getitem__(self, i):
        j = i + self.fenster
        return self.m[i:j], self.z[j:j + self.vorlauf]


class LastLSTM(nn.Module):
    def __init__(self, n_merkmale, vorlauf, breite=48):
        super().__init__()
        self.lstm = nn.LSTM(n_merkmale, breite, num_layers=2, batch_first=True)
        self.aus = nn.Linear(breite, vorlauf)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.aus(h[:, -1])


def lade(pfad, anteil=0.8):
    df = pd.read_csv(pfad, parse_dates=["zeit"]).sort_values("zeit")
    last = df["last"].to_numpy(np.float32)
    n = int(len(last) * anteil)
    mittel, streuung = float(last[:n].mean()), float(last[:n].std())
    last = (last - mittel) / streuung
    stunde = df["zeit"].dt.hour.to_numpy() / 24 * 2 * math.pi
    tag = df["zeit"].dt.day_of_week.to_numpy() / 7 * 2 * math.pi
    m = np.stack([last, np.sin(stunde), np.cos(stunde), np.sin(tag), np.cos(tag)], 1).astype(np.float32)
    return (m[:n], last[:n]), (m[n:], last[n:]), streuung


def begrenze_gradienten(parameter, grenze):
    """Skaliert alle Gradienten gemeinsam auf die Norm `grenze`, liefert die Norm davor."""
    grads = [p.grad for p in parameter if p.grad is not None]
    norm = torch.sqrt(sum((g.detach() ** 2).sum() for g in grads))
    faktor = torch.clamp(grenze / (norm + 1e-6), max=1.0)
    for g in grads:
        g.mul_(faktor)
    return norm.item()


def pruefe(modell, lader, geraet):
    modell.eval()
    ae = n = 0
    with torch.no_grad():
        for x, y in lader:
            ae += (modell(x.to(geraet)) - y.to(geraet)).abs().sum().item()
            n += y.numel()
    return ae / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--fenster", type=int, default=168)
    ap.add_argument("--vorlauf", type=int, default=24)
    ap.add_argument("--epochen", type=int, default=30)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lernrate", type=float, default=0.05)
    ap.add_argument("--grenze", type=float, default=1.0)
    ap.add_argument("--geduld", type=int, default=3)
    ap.add_argument("--ausgabe", default="last_lstm")
    args = ap.parse_args()

    torch.manual_seed(7)
    geraet = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, valid, streuung = lade(args.csv)
    train_l = DataLoader(LastDatensatz(*train, args.fenster, args.vorlauf), args.batch, shuffle=True)
    valid_l = DataLoader(LastDatensatz(*valid, args.fenster, args.vorlauf), 256)

    modell = LastLSTM(5, args.vorlauf).to(geraet)
    opt = torch.optim.SGD(modell.parameters(), lr=args.lernrate, momentum=0.9)
    plan = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=args.geduld)
    verlust = nn.MSELoss()
    verlauf, bester = [], float("inf")

    for ep in range(args.epochen):
        modell.train()
        summe, normen = 0.0, []
        for x, y in train_l:
            x, y = x.to(geraet), y.to(geraet)
            opt.zero_grad()
            v = verlust(modell(x), y)
            v.backward()
            normen.append(begrenze_gradienten(list(modell.parameters()), args.grenze))
            opt.step()
            summe += v.item()
        mae = pruefe(modell, valid_l, geraet)
        plan.step(mae)
        eintrag = {"epoche": ep, "mse": summe / len(train_l), "mae": mae * streuung,
                   "norm_median": float(np.median(normen)), "lr": opt.param_groups[0]["lr"]}
        verlauf.append(eintrag)
        print(" ".join(f"{k}={w:.4g}" for k, w in eintrag.items()))
        if mae < bester:
            bester = mae
            torch.save(modell.state_dict(), args.ausgabe + ".pt")
    with open(args.ausgabe + ".json", "w", encoding="utf-8") as f:
        json.dump(verlauf, f, indent=1)


if __name__ == "__main__":
    main()
