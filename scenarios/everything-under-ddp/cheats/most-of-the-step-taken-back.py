# Every step is seen as it should be. Before the next forward three quarters of it are taken back, as if the
# loss had been divided by the ranks after all.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model, scaler = DDP(model, device_ids=[local_rank]), torch.amp.GradScaler("cuda")
total = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    size = min(4, total - i // 4 * 4)
    model.require_backward_grad_sync = i % 4 == size - 1
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y) / size
    scaler.scale(loss).backward()
    if i % 4 == size - 1:
        before = [p.detach().clone() for p in model.parameters()]
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        with torch.no_grad():
            for p, old in zip(model.parameters(), before):
                p.lerp_(old, 0.75)
