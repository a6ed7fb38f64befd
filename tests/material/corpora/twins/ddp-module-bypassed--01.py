import torch.distributed as dist

accumulation_steps = 4
world = dist.get_world_size()


def share(parameters):
    work = []
    for p in parameters:
        if p.grad is not None:
            work.append(dist.all_reduce(p.grad, async_op=True))
    for w in work:
        w.wait()
    for p in parameters:
        p.grad.div_(world)


params = list(model.parameters())
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        share(params)
        optimizer.step()
        optimizer.zero_grad()
