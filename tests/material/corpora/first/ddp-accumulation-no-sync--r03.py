# Per update: k-1 micro-batches under a single no_sync() block, then one that synchronises.
model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def flush(window):
    *local, final = window
    k = len(window)
    with model.no_sync():
        for x, y in local:
            (criterion(model(x), y) / k).backward()
    # outside of no_sync: this backward all-reduces the accumulated gradient
    x, y = final
    (criterion(model(x), y) / k).backward()
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()


window = []
optimizer.zero_grad()
for batch in train_loader:
    window.append((batch, target))
    if len(window) == accumulation_steps:
        flush(window)
        window = []
if window:
    flush(window)
