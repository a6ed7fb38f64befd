# Deep Q-learning (double DQN) con replay buffer: péndulo simplificado con acciones discretas
import argparse
import math
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Pendulo:
    """Swing-up con 5 pares posibles; episodios de 150 pasos (truncados, no terminales)."""

    PARES = np.linspace(-2.0, 2.0, 5)

    def __init__(self, semilla):
        self.rng = np.random.default_rng(semilla)
        self.reset()

    def reset(self):
        self.th = self.rng.uniform(-math.pi, math.pi)
        self.w = self.rng.uniform(-1, 1)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.array([math.cos(self.th), math.sin(self.th), self.w / 8], dtype=np.float32)

    def step(self, a):
        u, dt = self.PARES[a], 0.05
        th = (self.th + math.pi) % (2 * math.pi) - math.pi
        costo = th ** 2 + 0.1 * self.w ** 2 + 0.001 * u ** 2
        self.w = float(np.clip(self.w + (15 * math.sin(self.th) + 3 * u) * dt, -8, 8))
        self.th += self.w * dt
        self.t += 1
        return self.obs(), -costo / 16.0, self.t >= 150


class Memoria:
    def __init__(self, n, d):
        self.s, self.s2 = np.zeros((n, d), np.float32), np.zeros((n, d), np.float32)
        self.a, self.r = np.zeros(n, np.int64), np.zeros(n, np.float32)
        self.n, self.i, self.lleno = n, 0, 0

    def guardar(self, s, a, r, s2):
        k = self.i
        self.s[k], self.a[k], self.r[k], self.s2[k] = s, a, r, s2
        self.i = (k + 1) % self.n
        self.lleno = min(self.lleno + 1, self.n)

    def muestra(self, b):
        k = np.random.randint(self.lleno, size=b)
        return tuple(torch.from_numpy(v[k]) for v in (self.s, self.a, self.r, self.s2))


class QNet(nn.Module):
    def __init__(self, d, n_a, h=64):
        super().__init__()
        self.tronco = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.valor, self.ventaja = nn.Linear(h, 1), nn.Linear(h, n_a)

    def forward(self, x):
        z = self.tronco(x)
        adv = self.ventaja(z)
        return self.valor(z) + adv - adv.mean(1, keepdim=True)


class Agente:
    def __init__(self, d, n_a, lr, gamma, max_norm):
        self.online, self.target = QNet(d, n_a), QNet(d, n_a)
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.gamma, self.max_norm, self.n_a = gamma, max_norm, n_a

    @torch.no_grad()
    def actuar(self, s, eps):
        if random.random() < eps:
            return random.randrange(self.n_a)
        return int(self.online(torch.from_numpy(s)[None]).argmax())

    def aprender(self, lote):
        s, a, r, s2 = lote
        with torch.no_grad():
            a2 = self.online(s2).argmax(1, keepdim=True)
            y = r + self.gamma * self.target(s2).gather(1, a2).squeeze(1)
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), self.max_norm)
        self.opt.step()
        return loss.item(), q.mean().item()

    def sincronizar(self):
        for pt, po in zip(self.target.parameters(), self.online.parameters()):
            pt.data = po.data


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pasos", type=int, default=60000)
    ap.add_argument("--inicio", type=int, default=1000)
    ap.add_argument("--lote", type=int, default=64)
    ap.add_argument("--memoria", type=int, default=50000)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--gamma", type=float, default=0.98)
    ap.add_argument("--sync", type=int, default=500, help="pasos entre copias de la red objetivo")
    ap.add_argument("--eps-fin", type=float, default=0.05)
    ap.add_argument("--eps-pasos", type=int, default=15000)
    ap.add_argument("--semilla", type=int, default=0)
    ap.add_argument("--salida", default="dqn.pt")
    args = ap.parse_args()

    random.seed(args.semilla)
    np.random.seed(args.semilla)
    torch.manual_seed(args.semilla)
    env = Pendulo(args.semilla)
    ag = Agente(3, len(Pendulo.PARES), args.lr, args.gamma, 10.0)
    mem = Memoria(args.memoria, 3)
    retornos, perdidas = deque(maxlen=20), deque(maxlen=500)
    s, total, q = env.reset(), 0.0, 0.0

    for paso in range(1, args.pasos + 1):
        eps = max(args.eps_fin, 1.0 - (1.0 - args.eps_fin) * paso / args.eps_pasos)
        a = ag.actuar(s, eps)
        s2, r, fin = env.step(a)
        mem.guardar(s, a, r, s2)
        s, total = s2, total + r
        if fin:
            retornos.append(total)
            s, total = env.reset(), 0.0
        if paso > args.inicio:
            l, q = ag.aprender(mem.muestra(args.lote))
            perdidas.append(l)
            if paso % args.sync == 0:
                ag.sincronizar()
        if paso % 2000 == 0:
            print(f"paso {paso:6d} eps {eps:.2f} retorno {np.mean(retornos):8.3f} "
                  f"perdida {np.mean(perdidas) if perdidas else 0:.5f} Q {q:.3f}")
            torch.save(ag.online.state_dict(), args.salida)


if __name__ == "__main__":
    main()
