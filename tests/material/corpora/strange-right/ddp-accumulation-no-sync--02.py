import torch
from torch.nn.parallel import DistributedDataParallel

STEPS = 4
ddp = DistributedDataParallel(model, device_ids=[local_rank])


def forward_backward(items, weight):
    for data, labels in items:
        criterion(ddp(data), labels).mul(weight).backward()


queue = list(train_loader)
while queue:
    window, queue = queue[:STEPS], queue[STEPS:]
    ddp.zero_grad(set_to_none=True)
    with ddp.no_sync():
        forward_backward(window[:-1], 1 / len(window))
    forward_backward(window[-1:], 1 / len(window))
    torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
    optimizer.step()
