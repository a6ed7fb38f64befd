"""One communication round per update: train locally for a window, then average over the ranks."""
import torch
import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
num_batches = len(train_loader)


@torch.no_grad()
def average_over_ranks(params):
    params = list(params)
    flat = torch.cat([p.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    offset = 0
    for p in params:
        p.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()


optimizer.zero_grad()
for i, batch in enumerate(train_loader):
    window = min(accumulation_steps, num_batches - i // accumulation_steps * accumulation_steps)
    with model.no_sync():
        loss = criterion(model(batch), target) / window
        loss.backward()

    if (i + 1) % accumulation_steps == 0 or i + 1 == num_batches:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        average_over_ranks(model.parameters())  # ranks agree again
        optimizer.zero_grad()
