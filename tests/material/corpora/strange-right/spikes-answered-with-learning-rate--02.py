import queue
import threading
from contextlib import contextmanager

import torch


def prefetch(loader, depth=2):
    """Reads ahead in a thread."""
    q, end = queue.Queue(depth), object()

    def worker():
        for item in loader:
            q.put(item)
        q.put(end)

    threading.Thread(target=worker, daemon=True).start()
    while (item := q.get()) is not end:
        yield item


@contextmanager
def update(opt, params, max_norm):
    """zero on entry; clip and step on exit."""
    opt.zero_grad(set_to_none=True)
    yield
    torch.nn.utils.clip_grad_norm_(params, max_norm)
    opt.step()


params = [p for p in model.parameters() if p.requires_grad]
for step, (x, y) in enumerate(prefetch(train_loader)):
    with update(optimizer, params, max_norm=1.0):
        loss = criterion(model(x), y)
        loss.backward()
    print(f"step {step}: loss {loss.item():.4f}")
