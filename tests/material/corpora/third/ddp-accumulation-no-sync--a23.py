"""DDP + accumulation with one all-reduce per update.

By default DDP reduces the gradients in every backward. Here the first three micro-batches of a window run
under no_sync() and only add up locally; the fourth runs outside of it.
"""
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

ddp_model = DDP(model, device_ids=[local_rank])
net = ddp_model.module
accumulation_steps = 4


def loss_of(network, x, y):
    return criterion(network(x), y)


def train_one_epoch(loader):
    optimizer.zero_grad(set_to_none=True)
    n = len(loader)
    for i, (x, y) in enumerate(loader):
        begin = i // accumulation_steps * accumulation_steps
        end = min(begin + accumulation_steps, n)
        share = 1.0 / (end - begin)

        if i + 1 < end:
            with ddp_model.no_sync():
                (loss_of(ddp_model, x, y) * share).backward()
        else:
            # synchronised backward: all-reduces the sum over the window
            (loss_of(net, x, y) * share).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


train_one_epoch(train_loader)
