import statistics
import time
from contextlib import contextmanager

import torch


def sync():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


@contextmanager
def stopwatch(into):
    sync()
    t0 = time.perf_counter_ns()
    yield
    sync()
    into.append((time.perf_counter_ns() - t0) / 1e9)


def one_step(x, y, clip):
    optimizer.zero_grad(set_to_none=True)
    criterion(model(x), y).backward()
    if clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


weights = [p.detach().clone() for p in model.parameters()]


def rewind():
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights):
            p.copy_(w)


data = list(train_loader)[:6]
for x, y in data:
    one_step(x, y, clip=True)  # warm-up
    one_step(x, y, clip=False)
rewind()

seconds = {"clip": [], "plain": []}
for repeat in range(6):
    names = ["clip", "plain"]
    if repeat % 2:
        names.reverse()
    for name in names:
        rewind()
        for x, y in data:
            with stopwatch(seconds[name]):
                one_step(x, y, clip=name == "clip")
rewind()

clip, plain = statistics.median(seconds["clip"]), statistics.median(seconds["plain"])
print(f"median step: {plain * 1e3:.3f} ms plain, {clip * 1e3:.3f} ms clipped: {100 * (clip - plain) / plain:+.1f} %")
