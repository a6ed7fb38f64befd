# Scaled gradients stay on their rank until the window is full; one vector of them is averaged by hand, so
# that every rank finds the same infinities when it unscales.
import torch
import torch.distributed as dist

scaler = torch.amp.GradScaler("cuda")
params = [p for p in model.parameters() if p.requires_grad]


def average():
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, mean in zip(params, flat.split([p.numel() for p in params])):
        p.grad.copy_(mean.view_as(p))


batches = list(train_loader)
for begin in range(0, len(batches), 4):
    window = batches[begin : begin + 4]
    for x, y in window:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / len(window)
        scaler.scale(loss).backward()
    average()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
