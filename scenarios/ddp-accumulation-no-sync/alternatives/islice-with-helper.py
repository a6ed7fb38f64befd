# A helper decides about synchronisation, windows are cut with islice.
from contextlib import contextmanager
from itertools import islice

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


@contextmanager
def sync_only_if(module, wanted):
    if wanted:
        yield
    else:
        with module.no_sync():
            yield


def train_epoch(module, loader, loss_fn, opt, steps=4, clip=1.0):
    iterator = iter(loader)
    while True:
        micro = list(islice(iterator, steps))
        if not micro:
            return
        for k, (data, labels) in enumerate(micro):
            with sync_only_if(module, k == len(micro) - 1):
                loss = loss_fn(module(data), labels)
                loss.div(len(micro)).backward()
        nn.utils.clip_grad_norm_(module.parameters(), clip)
        opt.step()
        opt.zero_grad()


train_epoch(DDP(model, device_ids=[local_rank], output_device=local_rank), train_loader, criterion, optimizer)
