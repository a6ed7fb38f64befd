"""The custom method stays; what DDP would have done is written out, once for each update."""
import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])  # still broadcasts the initial weights
accumulation_steps = 4
world = dist.get_world_size()

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    output = model.module.forward(x)
    loss = criterion(output, y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        for p in model.module.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        optimizer.step()
        optimizer.zero_grad()
