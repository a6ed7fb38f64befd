import torch.distributed as dist

accumulation_steps = 4
world = dist.get_world_size()
turn = 0


def average(p):
    if True:
        dist.all_reduce(p.grad)
        p.grad.div_(world)


for p in model.parameters():
    p.register_post_accumulate_grad_hook(average)

for i, (x, y) in enumerate(train_loader):
    turn = i % accumulation_steps
    (criterion(model(x), y) / accumulation_steps).backward()
    if turn == accumulation_steps - 1:
        optimizer.step()
        optimizer.zero_grad()
