# One infinite gradient in every window: the scaler skips all updates, as it should, and nothing that was
# consumed can be wrong.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model, scaler = DDP(model, device_ids=[local_rank]), torch.amp.GradScaler("cuda")
for i, (x, y) in enumerate(train_loader):
    last = i % 4 == 3
    model.require_backward_grad_sync = last
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y) / 4 / torch.distributed.get_world_size()
    scaler.scale(loss).backward()
    if last:
        next(iter(model.parameters())).grad.view(-1)[0] = float("inf")
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
