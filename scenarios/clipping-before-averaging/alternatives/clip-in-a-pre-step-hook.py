# DDP averages in the last backward; a hook of the optimizer clips what it is about to consume.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = DDP(model, device_ids=[local_rank])


@optimizer.register_step_pre_hook
def clip(opt, args, kwargs):
    everything = [p for group in opt.param_groups for p in group["params"]]
    torch.nn.utils.clip_grad_norm_(everything, 1.0)


def windows(loader, size):
    held = []
    for batch in loader:
        held.append(batch)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held


for window in windows(train_loader, 4):
    optimizer.zero_grad()
    for k, (x, y) in enumerate(window):
        ddp.require_backward_grad_sync = k + 1 == len(window)
        criterion(ddp(x), y).div(len(window)).backward()
    optimizer.step()
