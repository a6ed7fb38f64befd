# Multi-task regression on sensors.csv with gradient surgery (PCGrad, Yu et al. 2020):
# for every task i, its gradient is projected onto the normal plane of each other task's
# ORIGINAL gradient (random order) with which it conflicts; the projected ones are summed.
# research code, globals on purpose
import random
from pathlib import Path

import numpy as np
import torch

random.seed(0); torch.manual_seed(0)
RAW = np.genfromtxt(Path(__file__).parent / "data" / "sensors.csv", delimiter=";", names=True)
X = torch.tensor(np.stack([RAW[f"x{i}"] for i in range(6)], 1), dtype=torch.float32)
T = {k: torch.tensor(RAW[k], dtype=torch.float32) for k in ("temp", "flow", "vib")}

TRUNK = torch.nn.Sequential(torch.nn.Linear(6, 20), torch.nn.Tanh(), torch.nn.Linear(20, 12), torch.nn.Tanh())
HEADS = torch.nn.ModuleDict({k: torch.nn.Linear(12, 1) for k in T})
SHARED = list(TRUNK.parameters())
OPT = torch.optim.Adam([*SHARED, *HEADS.parameters()], lr=8e-3)
CLIP = 1.5
CONFLICTS = 0


def flat(gs):
    return torch.cat([g.reshape(-1) for g in gs])


def surgery(G):
    """list of flat task gradients -> flat joint gradient"""
    global CONFLICTS
    out = [g.clone() for g in G]
    for i, gi in enumerate(out):
        others = [j for j in range(len(G)) if j != i]
        random.shuffle(others)
        for j in others:
            dot = gi @ G[j]
            if dot < 0:
                CONFLICTS += 1
                gi -= dot / (G[j] @ G[j]) * G[j]
    return torch.stack(out).sum(0)


def put(params, vec):
    at = 0
    for p in params:
        n = p.numel()
        p.grad = vec[at:at + n].view_as(p).clone()
        at += n


def update(idx):
    z = TRUNK(X[idx])
    losses = {k: (HEADS[k](z).squeeze(1) - T[k][idx]).square().mean() for k in T}
    G = []
    for k, l in losses.items():
        own = list(HEADS[k].parameters())
        g = torch.autograd.grad(l, SHARED + own, retain_graph=True)
        G.append(flat(g[:len(SHARED)]))
        for p, h in zip(own, g[len(SHARED):]):
            p.grad = h                       # heads: plain gradient of their own task
    put(SHARED, surgery(G))
    torch.nn.utils.clip_grad_norm_(SHARED, CLIP)     # the trunk only
    OPT.step()
    return {k: float(l) for k, l in losses.items()}


for epoch in range(8):
    log = {k: 0.0 for k in T}
    CONFLICTS = 0
    chunks = torch.randperm(len(X)).split(32)
    for c in chunks:
        for k, v in update(c).items():
            log[k] += v / len(chunks)
    print(epoch, {k: round(v, 4) for k, v in log.items()}, "conflicts", CONFLICTS)

print("trunk", round(flat([p.detach() for p in SHARED]).norm().item(), 5))
