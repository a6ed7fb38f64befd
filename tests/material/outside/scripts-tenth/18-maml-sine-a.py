"""MAML on sinusoid regression, second order, functional_call for the fast weights."""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

try:
    from tqdm import trange
except ImportError:
    trange = range


@dataclass
class Config:
    iterations: int = 15000
    tasks: int = 8
    shots: int = 10
    queries: int = 15
    inner_steps: int = 2
    inner_lr: float = 0.01
    meta_lr: float = 1e-3
    hidden: int = 40
    eval_every: int = 500
    eval_tasks: int = 100
    seed: int = 11


class Task:
    def __init__(self, gen):
        u = torch.rand(2, generator=gen)
        self.amplitude = 0.1 + 4.9 * u[0]
        self.phase = math.pi * u[1]
        self.gen = gen

    def draw(self, n):
        x = torch.rand(n, 1, generator=self.gen) * 10 - 5
        return x, self.amplitude * torch.sin(x - self.phase)


def make_net(hidden):
    return nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))


def adapt(model, x, y, steps, lr, second_order=True):
    weights = dict(model.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, weights, (x,)), y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=second_order)
        weights = {k: w - lr * g for (k, w), g in zip(weights.items(), grads)}
    return weights


def evaluate(model, cfg, device):
    gen = torch.Generator().manual_seed(12345)
    before = after = 0.0
    for _ in range(cfg.eval_tasks):
        task = Task(gen)
        xs, ys = (t.to(device) for t in task.draw(cfg.shots))
        xq, yq = (t.to(device) for t in task.draw(100))
        weights = adapt(model, xs, ys, 10, cfg.inner_lr, second_order=False)
        with torch.no_grad():
            before += F.mse_loss(model(xq), yq).item()
            after += F.mse_loss(functional_call(model, weights, (xq,)), yq).item()
    return before / cfg.eval_tasks, after / cfg.eval_tasks


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = make_net(cfg.hidden).to(device)
    meta_opt = torch.optim.Adam(model.parameters(), lr=cfg.meta_lr)
    meta_sched = torch.optim.lr_scheduler.CosineAnnealingLR(meta_opt, cfg.iterations, eta_min=1e-5)

    for it in trange(cfg.iterations):
        total = 0.0
        for _ in range(cfg.tasks):
            task = Task(gen)
            xs, ys = (t.to(device) for t in task.draw(cfg.shots))
            xq, yq = (t.to(device) for t in task.draw(cfg.queries))
            weights = adapt(model, xs, ys, cfg.inner_steps, cfg.inner_lr)
            loss = F.mse_loss(functional_call(model, weights, (xq,)), yq) / cfg.tasks
            meta_opt.zero_grad()
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        meta_opt.step()
        meta_sched.step()
        if (it + 1) % cfg.eval_every == 0:
            before, after = evaluate(model, cfg, device)
            print(f"it {it + 1} meta loss {total:.4f} | eval before {before:.4f} after {after:.4f}")
    torch.save(model.state_dict(), "maml_sine.pt")


if __name__ == "__main__":
    main()
