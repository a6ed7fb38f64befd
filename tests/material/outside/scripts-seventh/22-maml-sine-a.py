"""Model-agnostic meta-learning (second order) on sinusoid regression.

Inner loop: a few gradient steps on the support set from the shared initialisation.
Outer loop: the loss on the query set after adaptation, differentiated through the inner steps.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class SineTasks:
    def __init__(self, k_shot, k_query, seed):
        self.k_shot, self.k_query = k_shot, k_query
        self.g = torch.Generator().manual_seed(seed)

    def _u(self, lo, hi, *shape):
        return lo + (hi - lo) * torch.rand(*shape, generator=self.g)

    def sample(self):
        amp, phase = self._u(0.1, 5.0, 1), self._u(0, math.pi, 1)
        x = self._u(-5, 5, self.k_shot + self.k_query, 1)
        y = amp * torch.sin(x + phase)
        return x[:self.k_shot], y[:self.k_shot], x[self.k_shot:], y[self.k_shot:]


class Net(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


def adapt(model, params, x, y, steps, lr, training=True):
    """returns the weights after `steps` of gradient descent on (x, y)"""
    fast = dict(params)
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()), retain_graph=training)
        fast = {n: p - lr * g for (n, p), g in zip(fast.items(), grads)}
    return fast


def evaluate(model, tasks, n_tasks, steps, lr):
    params = {n: p.detach().clone().requires_grad_(True) for n, p in model.named_parameters()}
    before = after = 0.0
    for _ in range(n_tasks):
        xs, ys, xq, yq = tasks.sample()
        fast = adapt(model, params, xs, ys, steps, lr, training=False)
        with torch.no_grad():
            before += F.mse_loss(model(xq), yq).item()
            after += F.mse_loss(functional_call(model, fast, (xq,)), yq).item()
    return before / n_tasks, after / n_tasks


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=15000)
    p.add_argument("--meta_batch", type=int, default=16)
    p.add_argument("--k_shot", type=int, default=10)
    p.add_argument("--k_query", type=int, default=15)
    p.add_argument("--inner_lr", type=float, default=0.02)
    p.add_argument("--inner_steps", type=int, default=3)
    p.add_argument("--meta_lr", type=float, default=1e-3)
    p.add_argument("--clip", type=float, default=10.0)
    p.add_argument("--eval_every", type=int, default=500)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="maml_sine.pt")
    args = p.parse_args()

    torch.manual_seed(args.seed)
    model = Net()
    meta_opt = torch.optim.Adam(model.parameters(), lr=args.meta_lr)
    tasks = SineTasks(args.k_shot, args.k_query, args.seed + 1)

    running = 0.0
    for it in range(1, args.iterations + 1):
        meta_opt.zero_grad()
        params = dict(model.named_parameters())
        meta_loss = 0.0
        for _ in range(args.meta_batch):
            xs, ys, xq, yq = tasks.sample()
            fast = adapt(model, params, xs, ys, args.inner_steps, args.inner_lr)
            loss = F.mse_loss(functional_call(model, fast, (xq,)), yq) / args.meta_batch
            # one backward per task keeps only one graph alive
            loss.backward()
            meta_loss += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        meta_opt.step()

        running += meta_loss
        if it % args.eval_every == 0:
            pre, post = evaluate(model, SineTasks(args.k_shot, args.k_query, 777), 100, args.inner_steps, args.inner_lr)
            print(f"iter {it} meta loss {running / args.eval_every:.4f} eval before {pre:.3f} after {post:.3f}")
            running = 0.0
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
