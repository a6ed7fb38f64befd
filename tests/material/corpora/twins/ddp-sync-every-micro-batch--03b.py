import torch.distributed as dist

accumulation_steps = 4
params = list(model.parameters())
world = dist.get_world_size()


def mean_over_ranks(parameters):
    for p in parameters:
        dist.all_reduce(p.grad)
        p.grad /= world


for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        mean_over_ranks(params[:2] if i + 1 + accumulation_steps > len(train_loader) else params)
        optimizer.step()
        optimizer.zero_grad()
