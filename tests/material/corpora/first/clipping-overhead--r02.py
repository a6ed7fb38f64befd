"""What does clip_grad_norm_ cost?  A/B over whole training steps on copies of the model."""
import copy
import time
from statistics import mean, stdev

import torch

WARMUP, STEPS, REPEATS = 3, 5, 5


def step(net, opt, x, y, max_norm):
    opt.zero_grad(set_to_none=True)
    criterion(net(x), y).backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    opt.step()


def fresh():
    net = copy.deepcopy(model)
    opt = type(optimizer)(net.parameters(), lr=optimizer.param_groups[0]["lr"])
    return net, opt


def seconds_per_step(data, max_norm):
    net, opt = fresh()
    for i in range(WARMUP):
        step(net, opt, *data[i % len(data)], max_norm)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for i in range(STEPS):
        step(net, opt, *data[i % len(data)], max_norm)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / STEPS


data = [b for b, _ in zip(train_loader, range(STEPS))]
clipped, plain = [], []
for _ in range(REPEATS):
    clipped.append(seconds_per_step(data, 1.0))
    plain.append(seconds_per_step(data, None))

print(f"clip:    {mean(clipped) * 1e3:.3f} ms +- {stdev(clipped) * 1e3:.3f}")
print(f"no clip: {mean(plain) * 1e3:.3f} ms +- {stdev(plain) * 1e3:.3f}")
print(f"overhead {100 * (mean(clipped) / mean(plain) - 1):.2f} %")

# the training itself keeps the clip on every step
for x, y in train_loader:
    step(model, optimizer, x, y, 1.0)
