"""Accumulate locally under no_sync(), then reduce once per update by hand: one round instead of four."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
full = len(train_loader) // accumulation_steps * accumulation_steps


@torch.no_grad()
def reduce_gradients(module):
    """One collective for all gradients: flatten, all-reduce, copy back."""
    grads = [p.grad for p in module.parameters() if p.grad is not None]
    flat = torch.cat([g.reshape(-1) for g in grads])
    dist.all_reduce(flat)
    offset = 0
    for g in grads:
        g.copy_(flat[offset:offset + g.numel()].view_as(g))
        offset += g.numel()


optimizer.zero_grad()
for i, batch in enumerate(train_loader):
    if i == full:
        break
    with model.no_sync():
        output = model(batch)
        loss = criterion(output, target) / accumulation_steps
        loss.backward()

    if (i + 1) % accumulation_steps == 0:
        reduce_gradients(model)
        # every rank holds the same gradient now, so every rank clips alike
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
