from collections import defaultdict

import torch

by_layer = defaultdict(list)
for name, p in model.named_parameters():
    by_layer[name.rsplit(".", 1)[0]].append(p)


def bounded(optimizer, args, kwargs):
    for params in by_layer.values():
        torch.nn.utils.clip_grad_norm_(params, 1.0)


optimizer.register_step_pre_hook(bounded)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
