# Two copies of the model, one clipped and one not, stepped in turns on the same batches.
import copy
from collections import defaultdict
from time import perf_counter_ns

import torch

models = {"plain": copy.deepcopy(model), "clipped": copy.deepcopy(model)}
optimizers = {name: torch.optim.SGD(m.parameters(), lr=1e-3) for name, m in models.items()}


def step(name, x, y):
    net, opt = models[name], optimizers[name]
    opt.zero_grad()
    criterion(net(x), y).backward()
    if name == "clipped":
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()


nanoseconds = defaultdict(list)
for index, (x, y) in enumerate(train_loader):
    for name in models:
        if index < 2:
            step(name, x, y)  # warm-up
            continue
        torch.cuda.synchronize()
        begin = perf_counter_ns()
        step(name, x, y)
        torch.cuda.synchronize()
        nanoseconds[name].append(perf_counter_ns() - begin)

plain, clipped = (sorted(nanoseconds[n])[len(nanoseconds[n]) // 2] for n in ("plain", "clipped"))
print(f"median step: {plain / 1e3:.0f} us plain, {clipped / 1e3:.0f} us clipped ({clipped / plain - 1:+.1%})")
