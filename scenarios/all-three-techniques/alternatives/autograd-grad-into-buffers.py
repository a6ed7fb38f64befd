# Gradients collected by autograd.grad in buffers of our own, handed to the optimizer at the end.
import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda", init_scale=2.0**16)
params = [p for p in model.parameters() if p.requires_grad]
total = len(train_loader)
N = 4

for start in range(0, total, N):
    size = min(N, total - start)
    if start == 0:
        stream = iter(train_loader)
    buffers = [torch.zeros_like(p) for p in params]
    for _ in range(size):
        inputs, targets = next(stream)
        with autocast(device_type="cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets) / size
        for buffer, grad in zip(buffers, torch.autograd.grad(scaler.scale(loss), params)):
            buffer += grad

    for p, buffer in zip(params, buffers):
        p.grad = buffer
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    scaler.step(optimizer)
    scaler.update()
