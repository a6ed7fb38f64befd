import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world_size = dist.get_world_size()


@torch.no_grad()
def reduce_gradients(params):
    buffer = torch.nn.utils.parameters_to_vector([p.grad for p in params])
    dist.all_reduce(buffer)
    buffer.div_(world_size)
    offset = 0
    for p in params:
        n = p.grad.numel()
        p.grad.copy_(buffer[offset:offset + n].view_as(p.grad))
        offset += n


trainable = [p for p in model.parameters() if p.requires_grad]
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with model.no_sync():
        (criterion(model(x), y) / accumulation_steps).backward()

    if (i + 1) % accumulation_steps == 0:
        reduce_gradients(trainable)                       # first the mean over the ranks ...
        clip_grad_norm_(trainable, max_norm=1.0)          # ... then the clip, alike everywhere
        optimizer.step()
        optimizer.zero_grad()
