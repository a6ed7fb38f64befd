import torch
import torch.distributed as dist
from torch import nn


class GradientAverager:
    """All-reduces the gradients of a plain module in one flat buffer."""

    def __init__(self, module: nn.Module):
        self.params = [p for p in module.parameters() if p.requires_grad]
        for p in module.parameters():
            dist.broadcast(p.data, src=0)
        self.world = dist.get_world_size()

    @torch.no_grad()
    def __call__(self):
        flat = torch._utils._flatten_dense_tensors([p.grad for p in self.params])
        dist.all_reduce(flat, op=dist.ReduceOp.SUM)
        for p, g in zip(self.params, torch._utils._unflatten_dense_tensors(flat, [p.grad for p in self.params])):
            p.grad.copy_(g)


average = GradientAverager(model)
accumulation_steps = 4
batches = list(train_loader)
for epoch in range(2):
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = criterion(model.forward(x), y) / len(window)
            loss.backward()
        average()
        optimizer.step()
