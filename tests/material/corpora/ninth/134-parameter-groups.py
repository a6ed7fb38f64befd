import itertools

import torch

LIMITS = {"backbone": 1.0, "head": 5.0}

optimizer = torch.optim.SGD(model.parameters(), lr=2e-3)


def by_part(named):
    key = lambda item: item[0].split(".", 1)[0]
    for part, items in itertools.groupby(sorted(named, key=key), key=key):
        yield part, [p for _, p in items if p.grad is not None]


def clip_parts(opt, *_):
    for part, params in by_part(model.named_parameters()):
        torch.nn.utils.clip_grad_norm_(params, LIMITS[part])


optimizer.register_step_pre_hook(clip_parts)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
