"""Second order MAML on sine waves (amplitude/phase pairs in data/waves.npy).

$ python 14-waves-maml.py --inner-steps 3 --meta-batch 5

The meta gradient is the exact derivative of the query loss through all inner steps.
"""
from __future__ import annotations

import argparse
import functools
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

Params = dict[str, Tensor]


def init(hidden: int, seed: int) -> Params:
    g = torch.Generator().manual_seed(seed)
    sizes = [(1, hidden), (hidden, hidden), (hidden, 1)]
    return {f"{k}{i}": (torch.randn(a, b, generator=g) / a ** 0.5 if k == "w" else torch.zeros(b)).requires_grad_()
            for i, (a, b) in enumerate(sizes) for k in "wb"}


def apply(p: Params, x: Tensor) -> Tensor:
    for i in range(2):
        x = torch.tanh(x @ p[f"w{i}"] + p[f"b{i}"])
    return x @ p["w2"] + p["b2"]


def mse(p: Params, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, y = batch
    return (apply(p, x) - y).square().mean()


def adapt(p: Params, support, steps: int, lr: float) -> Params:
    """Plain gradient descent on the support set, functional."""
    for k in range(steps):
        grads = torch.autograd.grad(mse(p, support), list(p.values()), create_graph=True)
        p = {n: w - lr * g for (n, w), g in zip(p.items(), grads)}
    return p


def episode(task: np.ndarray, g: torch.Generator, k: int = 10):
    amp, phase = map(float, task)
    x = torch.rand(2 * k, 1, generator=g) * 10 - 5
    y = amp * torch.sin(x + phase)
    return (x[:k], y[:k]), (x[k:], y[k:])


def meta_train(a: argparse.Namespace) -> Params:
    tasks = np.load(Path(__file__).parent / "data" / "waves.npy")
    g = torch.Generator().manual_seed(a.seed)
    meta = init(a.hidden, a.seed)
    leaves = list(meta.values())
    opt = torch.optim.Adam(leaves, lr=a.outer_lr)
    inner = functools.partial(adapt, steps=a.inner_steps, lr=a.inner_lr)

    for it in range(a.iterations):
        pick = torch.randint(len(tasks), (a.meta_batch,), generator=g).tolist()
        total = 0.0
        for j in pick:                                      # accumulate over tasks
            support, query = episode(tasks[j], g)
            q = mse(inner(meta, support), query)
            # inputs= : only the meta parameters collect a .grad
            torch.autograd.backward(q / a.meta_batch, inputs=leaves)
            total += q.item() / a.meta_batch
        torch.nn.utils.clip_grad_value_(leaves, a.clip)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if (it + 1) % 40 == 0:
            print(f"iteration {it + 1}: query mse {total:.4f}")
    return meta


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--inner-steps", type=int, default=3)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--outer-lr", type=float, default=4e-3)
    ap.add_argument("--meta-batch", type=int, default=5)
    ap.add_argument("--iterations", type=int, default=160)
    ap.add_argument("--hidden", type=int, default=24)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=1)
    m = meta_train(ap.parse_args())
    print("meta norm %.5f" % torch.cat([v.detach().flatten() for v in m.values()]).norm())
