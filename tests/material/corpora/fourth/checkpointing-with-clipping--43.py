"""Keep all three.

The reentrant checkpoint sees that its input, the batch, needs no gradient, and records nothing: the first four layers
never trained. With use_reentrant=False they do. Clipping is innocent, it just cannot clip what isn't there.
"""
import torch
from torch.nn.utils import get_total_norm
from torch.utils.checkpoint import checkpoint


class Checkpointed(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.front, self.back = layers[:4], layers[4:]

    def forward(self, x):
        hidden = checkpoint(self.front, x, use_reentrant=False)
        return self.back(hidden)


class Clipper:
    """Global norm clipping with the fused foreach kernels."""

    def __init__(self, module, max_norm):
        self.module, self.max_norm = module, max_norm
        self.grads = []

    @torch.no_grad()
    def __call__(self):
        if not self.grads:  # there are none before the first backward
            self.grads = [p.grad for p in self.module.parameters() if p.grad is not None]
        norm = get_total_norm(self.grads)
        torch._foreach_mul_(self.grads, (self.max_norm / (norm + 1e-6)).clamp(max=1.0))
        return norm


model = Checkpointed(model)
clip = Clipper(model, max_norm=1.0)
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    loss = criterion(model(x), y) / window
    loss.backward()

    if i + 1 == first + window:
        clip()
        optimizer.step()
        optimizer.zero_grad()
