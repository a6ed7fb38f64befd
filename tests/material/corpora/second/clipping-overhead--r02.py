"""What does clipping cost on this model? Whole steps, same batch, same start, measured by
torch.utils.benchmark (warms up, synchronises CUDA). Then the real loop, which clips every step."""
import copy

import torch
from torch.utils import benchmark


def make_step(clip):
    net = copy.deepcopy(model)
    opt = type(optimizer)(net.parameters(), **optimizer.defaults)
    x, y = next(iter(train_loader))

    def step():
        opt.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        opt.step()

    return step


steps = {"with clip": make_step(True), "without clip": make_step(False)}
for fn in steps.values():
    for _ in range(3):
        fn()

rounds = {name: [] for name in steps}
for r in range(5):
    order = list(steps) if r % 2 == 0 else list(steps)[::-1]
    for name in order:
        timer = benchmark.Timer(stmt="step()", globals={"step": steps[name]})
        rounds[name].append(timer.timeit(10).mean)

median = {name: sorted(values)[len(values) // 2] for name, values in rounds.items()}
overhead = median["with clip"] / median["without clip"] - 1
for name, values in rounds.items():
    print(f"{name:>13}: median {median[name] * 1e3:.3f} ms (min {min(values) * 1e3:.3f}, max {max(values) * 1e3:.3f})")
print(f"overhead of clipping: {overhead:+.2%} of a step ({sum(p.numel() for p in model.parameters()):,} parameters)")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
