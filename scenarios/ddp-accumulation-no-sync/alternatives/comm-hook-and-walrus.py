# A comm hook of our own does the averaging; the window is read with a walrus.
import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = DDP(model, device_ids=[local_rank])


def mean_hook(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    tensor = bucket.buffer().div_(dist.get_world_size())
    future = dist.all_reduce(tensor, async_op=True).get_future()
    return future.then(lambda f: f.value()[0])


ddp.register_comm_hook(None, mean_hook)

source = iter(train_loader)
while micro_batches := tuple(itertools.islice(source, 4)):
    rest = len(micro_batches)
    for xb, yb in micro_batches:
        rest -= 1
        ddp.require_backward_grad_sync = not rest
        criterion(ddp(xb), yb).mul(1 / len(micro_batches)).backward()
    torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
    optimizer.step()
    ddp.zero_grad()
