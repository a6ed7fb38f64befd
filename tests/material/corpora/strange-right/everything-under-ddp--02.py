from contextlib import ExitStack
from functools import partial

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def average_hook(state, bucket):
    """The default, spelled out: sum over ranks of the bucket divided by their number."""
    tensor = bucket.buffer().div_(dist.get_world_size())
    return dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0])


def peek(iterable):
    it = iter(iterable)
    current = next(it, None)
    while current is not None:
        following = next(it, None)
        yield current, following is None
        current = following


ddp = DDP(model, device_ids=[local_rank])
ddp.register_comm_hook(state=None, hook=average_hook)
amp = partial(torch.autocast, "cuda", dtype=torch.float16)
scaler = torch.amp.GradScaler("cuda")
K, n = 4, len(train_loader)

optimizer.zero_grad()
for i, ((x, y), end) in enumerate(peek(train_loader)):
    boundary = end or i % K == K - 1
    size = K if i < n // K * K else n % K
    with ExitStack() as stack:
        if not boundary:
            stack.enter_context(ddp.no_sync())
        with amp():
            loss = criterion(ddp(x), y) / size
        scaler.scale(loss).backward()
    if boundary:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
