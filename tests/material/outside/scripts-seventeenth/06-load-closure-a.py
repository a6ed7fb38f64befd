"""Prognose der Netzlast (data/load.csv) mit einem kleinen GRU.

Optimierer mit Closure: `optimizer.step(closure)`, damit man ohne Umbau zwischen Adam und
einem Verfahren mit mehreren Auswertungen (--solver lbfgs) wechseln kann. Die Norm des
Gradienten wird auf --clip begrenzt, bei jeder Auswertung der Closure.
"""
import argparse
from pathlib import Path

import torch
from torch import nn


def lade(pfad, fenster):
    werte = [float(z.split(",")[1]) for z in pfad.read_text().splitlines()[1:]]
    reihe = torch.tensor(werte)
    stapel = reihe.unfold(0, fenster + 1, 3)
    return stapel[:, :-1].unsqueeze(-1), stapel[:, -1]


class Prognose(nn.Module):
    def __init__(self, breite):
        super().__init__()
        self.gru = nn.GRU(1, breite, batch_first=True)
        self.kopf = nn.Linear(breite, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.kopf(h[-1]).squeeze(-1)


def mach_schritt(netz, opt, x, y, grenze, merk):
    def closure():
        opt.zero_grad()
        verlust = nn.functional.huber_loss(netz(x), y, delta=0.5)
        verlust.backward()
        merk.append(float(nn.utils.clip_grad_norm_(netz.parameters(), grenze)))
        return verlust

    return opt.step(closure).item()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--solver", choices=["adam", "sgd", "lbfgs"], default="sgd")
    ap.add_argument("--clip", type=float, default=0.1)
    ap.add_argument("--epochen", type=int, default=4)
    ap.add_argument("--breite", type=int, default=16)
    a = ap.parse_args()

    torch.manual_seed(4)
    x, y = lade(Path(__file__).parent / "data" / "load.csv", 24)
    netz = Prognose(a.breite)
    opt = {
        "adam": lambda p: torch.optim.Adam(p, lr=5e-3),
        "sgd": lambda p: torch.optim.SGD(p, lr=0.8, momentum=0.5),
        "lbfgs": lambda p: torch.optim.LBFGS(p, lr=0.5, max_iter=5),
    }[a.solver](netz.parameters())

    for epoche in range(a.epochen):
        normen, summe = [], 0.0
        stapel = torch.randperm(len(x)).split(48)
        for idx in stapel:
            summe += mach_schritt(netz, opt, x[idx], y[idx], a.clip, normen)
        print(f"Epoche {epoche}: Verlust {summe / len(stapel):.5f}, "
              f"Norm vor Begrenzung im Mittel {sum(normen) / len(normen):.3f}")

    print("Gewichtssumme", round(sum(p.detach().abs().sum().item() for p in netz.parameters()), 4))


if __name__ == "__main__":
    main()
