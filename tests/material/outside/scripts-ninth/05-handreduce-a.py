# Entraînement data-parallèle "à la main" (sans DDP) : classification de spectres
# Lancement : torchrun --nproc_per_node=2 train_spectres.py --fichier spectres.npz
import argparse
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def lire_arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--fichier", required=True, help="npz avec X [N, L] et y [N]")
    p.add_argument("--epoques", type=int, default=30)
    p.add_argument("--lot", type=int, default=64)
    p.add_argument("--pas", type=float, default=0.05)
    p.add_argument("--graine", type=int, default=3)
    p.add_argument("--sortie", default="spectres.pt")
    return p.parse_args()


class Reseau(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 9, stride=2, padding=4)
        self.conv2 = nn.Conv1d(16, 32, 9, stride=2, padding=4)
        self.conv3 = nn.Conv1d(32, 64, 5, stride=2, padding=2)
        self.norm = nn.GroupNorm(8, 64)
        self.drop = nn.Dropout(0.2)
        self.fin = nn.Linear(64, n_classes)

    def forward(self, x):
        x = F.relu(self.conv1(x.unsqueeze(1)))
        x = F.relu(self.conv2(x))
        x = F.relu(self.norm(self.conv3(x)))
        return self.fin(self.drop(x.amax(-1)))


def diffuser(modele):
    """Tous les rangs partent des poids du rang 0."""
    for t in modele.state_dict().values():
        dist.broadcast(t, src=0)


def moyenner_gradients(modele, taille):
    grads = [p.grad for p in modele.parameters()]
    plat = torch.cat([g.reshape(-1) for g in grads])
    dist.all_reduce(plat, op=dist.ReduceOp.SUM)
    plat /= taille
    debut = 0
    for g in grads:
        n = g.numel()
        g.copy_(plat[debut:debut + n].view_as(g))
        debut += n


def charger(fichier):
    z = np.load(fichier)
    X = torch.from_numpy(z["X"].astype(np.float32))
    y = torch.from_numpy(z["y"].astype(np.int64))
    g = torch.Generator().manual_seed(0)
    ordre = torch.randperm(len(X), generator=g)
    X, y = X[ordre], y[ordre]
    n = int(0.8 * len(X))
    m, s = X[:n].mean(), X[:n].std()
    X = (X - m) / s
    return X[:n], y[:n], X[n:], y[n:]


def main():
    a = lire_arguments()
    dist.init_process_group("gloo")
    rang, taille = dist.get_rank(), dist.get_world_size()
    Xa, ya, Xv, yv = charger(a.fichier)
    n_classes = int(max(ya.max(), yv.max())) + 1

    # graine différente par rang, pour que le dropout ne soit pas le même partout
    torch.manual_seed(a.graine + rang)
    modele = Reseau(n_classes)
    diffuser(modele)
    opt = torch.optim.SGD(modele.parameters(), lr=a.pas, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.epoques)

    lot_global = a.lot * taille
    for ep in range(a.epoques):
        t0 = time.time()
        modele.train()
        g = torch.Generator().manual_seed(1000 + ep)
        perm = torch.randperm(len(Xa), generator=g)
        cumul, n_lots = 0.0, 0
        for k in range(0, len(Xa) - lot_global + 1, lot_global):
            idx = perm[k + rang * a.lot:k + (rang + 1) * a.lot]
            perte = F.cross_entropy(modele(Xa[idx]), ya[idx])
            opt.zero_grad()
            perte.backward()
            moyenner_gradients(modele, taille)
            nn.utils.clip_grad_norm_(modele.parameters(), 2.0)
            opt.step()
            cumul += perte.item()
            n_lots += 1
        sched.step()

        modele.eval()
        with torch.no_grad():
            juste = torch.tensor([(modele(Xv[rang::taille]).argmax(1) == yv[rang::taille]).sum().item(),
                                  len(yv[rang::taille])], dtype=torch.float64)
        dist.all_reduce(juste)
        if rang == 0:
            print(f"époque {ep:02d}  perte {cumul / max(n_lots, 1):.4f}  "
                  f"exactitude {juste[0] / juste[1]:.3f}  ({time.time() - t0:.1f}s)", flush=True)
            torch.save(modele.state_dict(), a.sortie + ".tmp")
            os.replace(a.sortie + ".tmp", a.sortie)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
