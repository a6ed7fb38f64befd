# A hook of the optimizer seeds by the number of the update, inside a fork of the global generator, so that
# dropout and shuffling never notice.
import itertools

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

updates = itertools.count()


@optimizer.register_step_pre_hook
@torch.no_grad()
def add_noise(opt, args, kwargs):
    step = next(updates)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1234 + step)
        for p in itertools.chain.from_iterable(group["params"] for group in opt.param_groups):
            p.grad += torch.empty_like(p).normal_(std=1e-3 / (1 + step) ** 0.5)


ddp = DDP(model, device_ids=[local_rank])
for x, y in train_loader:
    criterion(ddp(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
