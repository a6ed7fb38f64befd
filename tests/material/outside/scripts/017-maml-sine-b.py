"""MAML (second order) on sine regression."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


def sample_task():
    amp = 0.1 + 4.9 * torch.rand(1)
    phase = math.pi * torch.rand(1)

    def draw(k):
        x = 10 * torch.rand(k, 1) - 5
        return x, amp * torch.sin(x + phase)

    return draw


def adapt(model, params, x, y, inner_lr, steps):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
        params = {name: (p.data - inner_lr * g.data).requires_grad_() for (name, p), g in zip(params.items(), grads)}
    return params


def main(meta_iters=60, tasks_per_batch=4, shots=10, inner_lr=0.01, meta_lr=1e-2, inner_steps=1, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    meta_opt = torch.optim.Adam(model.parameters(), lr=meta_lr)
    smooth = None
    for it in range(1, meta_iters + 1):
        meta_opt.zero_grad()
        meta_loss = 0.0
        for _ in range(tasks_per_batch):
            draw = sample_task()
            xs, ys = draw(shots)
            xq, yq = draw(shots)
            fast = adapt(model, dict(model.named_parameters()), xs, ys, inner_lr, inner_steps)
            loss = F.mse_loss(functional_call(model, fast, (xq,)), yq)
            (loss / tasks_per_batch).backward()
            meta_loss += loss.item() / tasks_per_batch
        meta_opt.step()
        smooth = meta_loss if smooth is None else 0.9 * smooth + 0.1 * meta_loss
        if it % 20 == 0:
            print(f"iter {it}: query loss {smooth:.3f}")

    # adaptation on one fresh task
    draw = sample_task()
    xs, ys = draw(shots)
    xq, yq = draw(200)
    before = F.mse_loss(model(xq), yq).item()
    fast = adapt(model, dict(model.named_parameters()), xs, ys, inner_lr, 5)
    after = F.mse_loss(functional_call(model, fast, (xq,)), yq).item()
    print(f"new task: before {before:.3f}, after five steps {after:.3f}")


if __name__ == "__main__":
    main()
