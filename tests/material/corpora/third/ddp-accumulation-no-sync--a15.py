# 60 % utilisation is not "what DDP costs": DDP reduces the gradients in every backward, and with
# accumulation only the last one of the four is needed. Let the first three run under no_sync().
from contextlib import ExitStack
from itertools import islice

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

stream = iter(train_loader)
update = 0
while True:
    group = list(islice(stream, accumulation_steps))
    if not group:
        break

    optimizer.zero_grad(set_to_none=True)
    with ExitStack() as quiet:
        if len(group) > 1:
            quiet.enter_context(model.no_sync())
        for k, (x, y) in enumerate(group):
            if k == len(group) - 1:
                quiet.close()  # from here on DDP talks again; must happen before the forward
            loss = criterion(model(x), y) / len(group)
            loss.backward()

    # one all-reduce has averaged the sum of the whole group over all ranks
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    update += 1
    if update % 50 == 0:
        print(f"update {update}: grad norm {norm.item():.4f}")
