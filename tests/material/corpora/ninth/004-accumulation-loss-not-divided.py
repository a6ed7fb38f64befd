"""Accumulation with explicit buffers.

The posted loop sums four mean losses.  Here the buffers hold the running mean of the
micro-batch gradients, so no division of the loss is needed and the logged loss stays readable.
"""
import torch


class GradMean:
    """Online mean of gradients (Welford without the variance)."""

    def __init__(self, params):
        self.params = [p for p in params if p.requires_grad]
        self.mean = [torch.zeros_like(p) for p in self.params]
        self.count = 0

    def update(self, grads):
        self.count += 1
        for m, g in zip(self.mean, grads):
            m.add_(g - m, alpha=1.0 / self.count)

    def flush(self):
        for p, m in zip(self.params, self.mean):
            p.grad = m.clone()
            m.zero_()


accumulation_steps = 4
buffer = GradMean(model.parameters())

for i, (x, y) in enumerate(train_loader, start=1):
    loss = criterion(model(x), y)
    buffer.update(torch.autograd.grad(loss, buffer.params))
    if i % accumulation_steps == 0:
        buffer.flush()
        optimizer.step()
