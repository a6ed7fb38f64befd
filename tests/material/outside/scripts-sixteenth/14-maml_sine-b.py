"""MAML (Finn et al. 2017) on sine regression tasks from a csv, second order."""
import argparse
from collections import OrderedDict

import pandas as pd
import torch
from torch import nn
from torch.func import functional_call


def load_tasks(path):
    df = pd.read_csv(path)
    tasks = []
    for _, g in df.groupby("task"):
        x = torch.tensor(g["x"].values, dtype=torch.float32).unsqueeze(1)
        y = torch.tensor(g["y"].values, dtype=torch.float32).unsqueeze(1)
        tasks.append((x, y))
    return tasks


def split(task, k):
    x, y = task
    perm = torch.randperm(len(x))
    s, q = perm[:k], perm[k:]
    return (x[s], y[s]), (x[q], y[q])


class Regressor(nn.Sequential):
    def __init__(self, width=40):
        super().__init__(OrderedDict(
            l1=nn.Linear(1, width), a1=nn.Tanh(),
            l2=nn.Linear(width, width), a2=nn.Tanh(),
            l3=nn.Linear(width, 1)))


class MAML:
    def __init__(self, model, inner_lr, inner_steps, meta_lr):
        self.model = model
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.opt = torch.optim.Adam(model.parameters(), lr=meta_lr)
        self.loss = nn.MSELoss()

    def adapt(self, support, create_graph=True):
        x, y = support
        params = OrderedDict(self.model.named_parameters())
        fast = params
        for _ in range(self.inner_steps):
            loss = self.loss(functional_call(self.model, fast, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=create_graph)
            fast = OrderedDict((n, p - self.inner_lr * g) for (n, p), g in zip(params.items(), grads))
        return fast

    def meta_step(self, tasks, k):
        self.opt.zero_grad()
        total = 0.0
        for t in tasks:
            support, (xq, yq) = split(t, k)
            fast = self.adapt(support)
            q_loss = self.loss(functional_call(self.model, fast, (xq,)), yq) / len(tasks)
            q_loss.backward()
            total += q_loss.item()
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.opt.step()
        return total

    def evaluate(self, tasks, k):
        losses = []
        for t in tasks:
            support, (xq, yq) = split(t, k)
            fast = self.adapt(support, create_graph=False)
            with torch.no_grad():
                losses.append(self.loss(functional_call(self.model, fast, (xq,)), yq).item())
        return sum(losses) / len(losses)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tasks", default="data/sine_tasks.csv")
    p.add_argument("--iterations", type=int, default=60)
    p.add_argument("--meta-batch", type=int, default=6)
    p.add_argument("--shots", type=int, default=10)
    p.add_argument("--inner-lr", type=float, default=0.02)
    p.add_argument("--inner-steps", type=int, default=5)
    p.add_argument("--meta-lr", type=float, default=3e-3)
    a = p.parse_args()

    torch.set_num_threads(1)
    tasks = load_tasks(a.tasks)
    train, test = tasks[:22], tasks[22:]
    maml = MAML(Regressor(), a.inner_lr, a.inner_steps, a.meta_lr)
    for it in range(1, a.iterations + 1):
        pick = [train[i] for i in torch.randperm(len(train))[:a.meta_batch]]
        loss = maml.meta_step(pick, a.shots)
        if it % 20 == 0:
            print(f"iter {it:4d}  query loss {loss:.4f}  test after adaptation {maml.evaluate(test, a.shots):.4f}")


if __name__ == "__main__":
    main()
