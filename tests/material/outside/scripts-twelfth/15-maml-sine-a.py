import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


@dataclass
class MetaConfig:
    meta_lr: float = 1e-3
    inner_lr: float = 0.01
    inner_steps: int = 1
    shots: int = 10
    tasks_per_batch: int = 8
    iterations: int = 2000
    log_every: int = 100


def make_net():
    return nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))


class SineTask:
    def __init__(self):
        self.amp = 0.1 + 4.9 * torch.rand(1)
        self.phase = math.pi * torch.rand(1)

    def draw(self, n):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.amp * torch.sin(x - self.phase)


def adapt(net, x, y, steps, lr, create_graph):
    params = dict(net.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def evaluate(net, cfg, n_tasks=50):
    before = after = 0.0
    for _ in range(n_tasks):
        task = SineTask()
        xs, ys = task.draw(cfg.shots)
        xq, yq = task.draw(100)
        fast = adapt(net, xs, ys, 5, cfg.inner_lr, create_graph=False)
        with torch.no_grad():
            before += F.mse_loss(net(xq), yq).item()
            after += F.mse_loss(functional_call(net, fast, (xq,)), yq).item()
    return before / n_tasks, after / n_tasks


def main():
    cfg = MetaConfig()
    torch.manual_seed(0)
    net = make_net()
    meta_opt = torch.optim.Adam(net.parameters(), lr=cfg.meta_lr)

    for it in range(1, cfg.iterations + 1):
        meta_loss = 0.0
        for _ in range(cfg.tasks_per_batch):
            meta_opt.zero_grad()
            task = SineTask()
            xs, ys = task.draw(cfg.shots)
            xq, yq = task.draw(cfg.shots)
            fast = adapt(net, xs, ys, cfg.inner_steps, cfg.inner_lr, create_graph=True)
            loss = F.mse_loss(functional_call(net, fast, (xq,)), yq) / cfg.tasks_per_batch
            loss.backward()
            meta_loss += loss.item()
        meta_opt.step()

        if it % cfg.log_every == 0:
            pre, post = evaluate(net, cfg)
            print(f"iter {it} meta loss {meta_loss:.3f} | before {pre:.3f} after {post:.3f}")

    torch.save(net.state_dict(), "maml_sine.pt")


if __name__ == "__main__":
    main()
