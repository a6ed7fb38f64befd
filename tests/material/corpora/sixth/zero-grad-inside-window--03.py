"""zero_grad() must run once per window, not once per micro-batch.

Gradients are computed functionally and summed in buffers of our own, so that nothing
anyone does to .grad between two micro-batches can wipe the window.
"""
import torch

accumulation_steps = 4
params = [p for p in model.parameters() if p.requires_grad]
buffers = [torch.zeros_like(p) for p in params]
held = 0


def flush():
    global held
    if held == 0:
        return
    for p, b in zip(params, buffers):
        p.grad = b / held
    optimizer.step()
    optimizer.zero_grad()
    torch._foreach_zero_(buffers)
    held = 0


for x, y in train_loader:
    grads = torch.autograd.grad(criterion(model(x), y), params)
    torch._foreach_add_(buffers, grads)
    held += 1
    if held == accumulation_steps:
        flush()
flush()
