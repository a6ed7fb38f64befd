"""Accumulation with explicit buffers.

backward() adds into p.grad and that is where the factor of four came from.  I keep the
running *mean* in my own buffers and hand it to the optimizer only when a window is full.
"""
import torch

accumulation_steps = 4

params = [p for p in model.parameters() if p.requires_grad]
mean = [torch.zeros_like(p) for p in params]
seen = 0

for x, y in train_loader:
    loss = criterion(model(x), y)
    grads = torch.autograd.grad(loss, params)

    seen += 1
    # running mean: m += (g - m) / k
    torch._foreach_lerp_(mean, grads, 1.0 / seen)

    if seen < accumulation_steps:
        continue

    for p, m in zip(params, mean):
        p.grad = m.clone()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch._foreach_zero_(mean)
    seen = 0
