"""MAML on sinusoid regression (Finn et al. 2017), functional_call version."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


@dataclass
class Task:
    amplitude: float
    phase: float

    def sample(self, n, gen):
        x = torch.rand(n, 1, generator=gen) * 10 - 5
        return x, self.amplitude * torch.sin(x - self.phase)


class TaskSampler:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def draw(self):
        u = torch.rand(2, generator=self.gen)
        return Task(amplitude=(0.1 + 4.9 * u[0]).item(), phase=(torch.pi * u[1]).item())

    def batch(self, n_tasks, k_support, k_query):
        out = []
        for _ in range(n_tasks):
            task = self.draw()
            out.append((*task.sample(k_support, self.gen), *task.sample(k_query, self.gen)))
        return out


def build_net(hidden=40):
    return nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))


class MAML:
    def __init__(self, net, inner_lr, inner_steps, outer_lr):
        self.net = net
        self.inner_lr, self.inner_steps = inner_lr, inner_steps
        self.meta_opt = torch.optim.Adam(net.parameters(), lr=outer_lr)

    def forward(self, params, x):
        return functional_call(self.net, params, (x,))

    def adapt(self, x, y, steps=None, create_graph=True):
        params = dict(self.net.named_parameters())
        fast = params
        for _ in range(steps or self.inner_steps):
            loss = F.mse_loss(self.forward(fast, x), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=create_graph)
            fast = {k: p - self.inner_lr * g for (k, p), g in zip(fast.items(), grads)}
        return fast

    def meta_step(self, tasks):
        self.meta_opt.zero_grad()
        total = 0.0
        for xs, ys, xq, yq in tasks:
            fast = self.adapt(xs, ys)
            loss = F.mse_loss(self.forward(fast, xq), yq) / len(tasks)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.meta_opt.step()
        return total

    def evaluate(self, tasks, steps):
        before = after = 0.0
        for xs, ys, xq, yq in tasks:
            fast = self.adapt(xs, ys, steps=steps, create_graph=False)
            with torch.no_grad():
                before += F.mse_loss(self.net(xq), yq).item()
                after += F.mse_loss(self.forward(fast, xq), yq).item()
        return before / len(tasks), after / len(tasks)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=800)
    p.add_argument("--meta-batch", type=int, default=6)
    p.add_argument("--shots", type=int, default=10)
    p.add_argument("--inner-lr", type=float, default=0.01)
    p.add_argument("--inner-steps", type=int, default=3)
    p.add_argument("--outer-lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    learner = MAML(build_net(), args.inner_lr, args.inner_steps, args.outer_lr)
    sampler = TaskSampler(args.seed)
    held_out = TaskSampler(10_000).batch(60, args.shots, 50)

    running = 0.0
    every = max(1, args.iterations // 8)
    for it in range(1, args.iterations + 1):
        running += learner.meta_step(sampler.batch(args.meta_batch, args.shots, args.shots))
        if it % every == 0:
            before, after = learner.evaluate(held_out, args.inner_steps)
            print(f"iter {it:5d} meta loss {running / every:.3f} | held-out before {before:.3f} after {after:.3f}")
            running = 0.0

    for steps in (1, 3, 10):
        before, after = learner.evaluate(held_out, steps)
        print(f"adapt {steps:2d} steps: {before:.3f} -> {after:.3f}")
    torch.save(learner.net.state_dict(), "maml_sine.pt")


if __name__ == "__main__":
    main()
