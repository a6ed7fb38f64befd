# Each layer is clipped during backward, as soon as the last of its parameters has its gradient.
import torch
from torch import nn


def clip_when_complete(layer, max_norm=1.0):
    params, arrived = list(layer.parameters()), []

    def on_gradient(p):
        arrived.append(p)
        if len(arrived) == len(params):
            nn.utils.clip_grad_norm_(params, max_norm)
            arrived.clear()

    for p in params:
        p.register_post_accumulate_grad_hook(on_gradient)


for layer in model.modules():
    if isinstance(layer, nn.Linear):
        clip_when_complete(layer)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
