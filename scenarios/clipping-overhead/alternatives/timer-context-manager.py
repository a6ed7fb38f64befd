# A timer as a context manager, around the same pass over the data twice.
import time
from contextlib import contextmanager

import torch
from torch.nn.utils import clip_grad_norm_


@contextmanager
def timer(results, key):
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    yield
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    results.setdefault(key, []).append(time.perf_counter() - start)


def run_steps(use_clipping, batches):
    for inputs, labels in batches:
        optimizer.zero_grad()
        criterion(model(inputs), labels).backward()
        if use_clipping:
            clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()


saved = {k: v.detach().clone() for k, v in model.state_dict().items()}
batches = list(train_loader)[:6]
run_steps(True, batches)

times = {}
for _ in range(3):
    for use_clipping in (True, False):
        model.load_state_dict(saved)
        with timer(times, use_clipping):
            run_steps(use_clipping, batches)
model.load_state_dict(saved)

with_clip, without = min(times[True]), min(times[False])
print(f"with {with_clip:.4f}s, without {without:.4f}s, overhead {(with_clip - without) / without:.1%}")
