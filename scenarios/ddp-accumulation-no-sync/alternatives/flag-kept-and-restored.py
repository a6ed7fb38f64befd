# The window grows with +=; the flag is kept and restored by a context manager of our own.
import contextlib
model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

@contextlib.contextmanager
def maybe_no_sync(m, enabled):
    old = m.require_backward_grad_sync
    m.require_backward_grad_sync = not enabled
    try:
        yield
    finally:
        m.require_backward_grad_sync = old

micro = []
def run(micro):
    for k, (x, y) in enumerate(micro):
        with maybe_no_sync(model, k < len(micro) - 1):
            (criterion(model(x), y) / len(micro)).backward()
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()

for batch in train_loader:
    micro += [batch]
    if len(micro) == accumulation_steps:
        run(micro); micro = []
if micro:
    run(micro)
