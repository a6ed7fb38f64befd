"""Accumulation with a prefetching producer. The loss of each micro-batch is divided by the number of
micro-batches of its window, so the learning rate of the large batch stays as it is."""
import queue
import threading

accumulation_steps = 4
_DONE = None


def producer(loader, out):
    window = []
    for batch in loader:
        window.append(batch)
        if len(window) == accumulation_steps:
            out.put(window)
            window = []
    if window:
        out.put(window)
    out.put(_DONE)


windows = queue.Queue(maxsize=2)
threading.Thread(target=producer, args=(train_loader, windows), daemon=True).start()

while (window := windows.get()) is not _DONE:
    optimizer.zero_grad()
    for x, y in window:
        (criterion(model(x), y) / len(window)).backward()
    optimizer.step()
