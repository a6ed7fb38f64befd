import torch
import torch.distributed as dist
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel

ACCUM, CLIP = 4, 1.0
net = DistributedDataParallel(model, device_ids=[local_rank])
scaler = GradScaler("cuda", init_scale=2.0**14)


def is_boundary(step, total):
    return (step + 1) % ACCUM == 0 or step + 1 == total


def train_one_epoch(epoch):
    total = len(train_loader)
    tail = total - total % ACCUM
    net.train()
    for step, (x, y) in enumerate(train_loader):
        size = ACCUM if step < tail else total % ACCUM
        boundary = is_boundary(step, total)
        net.require_backward_grad_sync = boundary
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(net(x), y) / size
        scaler.scale(loss).backward()
        if boundary:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), CLIP)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


for epoch in range(2):
    train_one_epoch(epoch)
if dist.get_rank() == 0:
    print("done", scaler.get_scale())
