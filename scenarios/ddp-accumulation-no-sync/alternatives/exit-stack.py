# An ExitStack enters no_sync only where it is wanted.
import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel

ddp_model = DistributedDataParallel(model, device_ids=[local_rank], gradient_as_bucket_view=True)
accumulation_steps = 4


def chunks(seq, n):
    for k in range(0, len(seq), n):
        yield seq[k : k + n]


for window in chunks(list(train_loader), accumulation_steps):
    *early, final = window
    optimizer.zero_grad(set_to_none=False)
    with contextlib.ExitStack() as stack:
        stack.enter_context(ddp_model.no_sync())
        for x, y in early:
            (criterion(ddp_model(x), y) / len(window)).backward()
    x, y = final
    (criterion(ddp_model(x), y) / len(window)).backward()
    torch.nn.utils.clip_grad_norm_(ddp_model.parameters(), 1.0)
    optimizer.step()
