"""Two-task training with PCGrad (projecting conflicting gradients)."""
import torch
import torch.nn as nn

torch.manual_seed(0)
shared = nn.Sequential(nn.Linear(6, 20), nn.ReLU())
heads = nn.ModuleList([nn.Linear(20, 1), nn.Linear(20, 1)])
params = list(shared.parameters()) + list(heads.parameters())
opt = torch.optim.SGD(params, lr=0.05)


def flat_grad():
    return torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in params])


def task_grads(x, ys):
    out, losses = [], []
    for head, y in zip(heads, ys):
        opt.zero_grad()
        loss = nn.functional.mse_loss(head(shared(x)), y)
        loss.backward()
        out.append(flat_grad())
        losses.append(loss.item())
    return out, losses


def project(grads):
    res = [g.clone() for g in grads]
    for i, g in enumerate(res):
        for j, h in enumerate(grads):
            dot = g @ h
            if i != j and dot < 0:
                g -= dot / (h @ h) * h
    return sum(res)


def assign(vec):
    k = 0
    for p in params:
        p.grad = vec[k:k + p.numel()].view_as(p).clone()
        k += p.numel()


for step in range(40):
    x = torch.randn(32, 6)
    ys = [x[:, :1] + x[:, 1:2], -x[:, :1] + x[:, 2:3]]
    grads, losses = task_grads(x, ys)
    assign(project(grads))
    opt.step()
    if step % 10 == 0:
        print(step, [round(l, 4) for l in losses])
