import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
inner_lr, meta_lr, tasks_per_batch = 0.05, 1e-2, 4
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
meta_opt = torch.optim.SGD(net.parameters(), lr=meta_lr)


def sample_task():
    amp, phase = torch.rand(()) * 4 + 0.5, torch.rand(()) * 3.14

    def draw(n):
        x = torch.rand(n, 1) * 8 - 4
        return x, amp * torch.sin(x + phase)

    return draw(10), draw(10)


def adapt(params, x, y, steps=2):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, x), y)
        # second order: keep the graph of the inner gradient
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - inner_lr * g for (k, p), g in zip(params.items(), grads)}
    return params


for it in range(20):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(tasks_per_batch):
        (xs, ys), (xq, yq) = sample_task()
        fast = adapt(dict(net.named_parameters()), xs, ys)
        loss = F.mse_loss(functional_call(net, fast, xq), yq) / tasks_per_batch
        loss.backward()
        meta_loss += loss.item()
    meta_opt.step()
    if it % 5 == 0:
        print(f"meta iter {it}: {meta_loss:.4f}")
