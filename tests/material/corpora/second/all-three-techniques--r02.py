"""Accumulation + fp16 + clipping behind one object. backward() per micro-batch, step() per window."""
import torch
from torch.amp import GradScaler, autocast


@torch.no_grad()
def clip_(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = torch.stack(torch._foreach_norm(grads)).norm()
    coefficient = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    torch._foreach_mul_(grads, coefficient)
    return total


class Accumulator:
    def __init__(self, model, optimizer, steps, max_norm):
        self.model, self.optimizer = model, optimizer
        self.steps, self.max_norm = steps, max_norm
        self.scaler = GradScaler("cuda")
        self.pending = 0

    def backward(self, loss):
        self.scaler.scale(loss / self.steps).backward()
        self.pending += 1
        if self.pending == self.steps:
            self._update()

    def _update(self):
        self.scaler.unscale_(self.optimizer)             # true gradients ...
        clip_(self.model.parameters(), self.max_norm)    # ... are what the threshold is about
        self.scaler.step(self.optimizer)                 # skips the update if unscale_ met inf/NaN
        self.scaler.update()
        self.reset()

    def reset(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.pending = 0


accumulator = Accumulator(model, optimizer, steps=4, max_norm=1.0)
accumulator.reset()
for batch in train_loader:
    with autocast("cuda", dtype=torch.float16):
        output = model(batch)
        loss = criterion(output, target)
    accumulator.backward(loss)
accumulator.reset()  # an incomplete window must not leak into the next epoch
