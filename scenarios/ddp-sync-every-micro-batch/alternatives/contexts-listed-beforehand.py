# A window is zipped with its contexts: no_sync for all but the last, nothing for that one.
from contextlib import nullcontext
from itertools import islice

from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
feed = iter(train_loader)
while micro_batches := list(islice(feed, 4)):
    contexts = [model.no_sync] * (len(micro_batches) - 1) + [nullcontext]
    for (x, y), context in zip(micro_batches, contexts):
        with context():
            loss = criterion(model(x), y) / len(micro_batches)
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
