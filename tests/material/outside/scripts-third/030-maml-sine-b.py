import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

INNER_LR, META_BATCH, K = 0.01, 8, 10


def sample_task():
    amp, ph = torch.rand(1) * 4.9 + 0.1, torch.rand(1) * 3.14
    def draw(n):
        x = torch.rand(n, 1) * 10 - 5
        return x, amp * torch.sin(x + ph)
    return draw


net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta_opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def adapt(params, x, y, steps=1):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - INNER_LR * g for (k, p), g in zip(params.items(), grads)}
    return params


torch.manual_seed(0)
for it in range(100):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(META_BATCH):
        draw = sample_task()
        xs, ys = draw(K)
        xq, yq = draw(K)
        fast = adapt(dict(net.named_parameters()), xs, ys)
        meta_loss = meta_loss + F.mse_loss(functional_call(net, fast, (xq,)), yq)
    meta_loss = meta_loss / META_BATCH
    meta_loss.backward()
    meta_opt.step()
    if it % 20 == 0:
        print(f'{it:4d} meta loss {meta_loss.item():.3f}')
