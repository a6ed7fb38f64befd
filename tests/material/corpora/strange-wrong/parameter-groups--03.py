"""Fine-tuning with a threshold for each part of the model."""

import torch
from torch.nn.utils import clip_grad_norm_

WARM_UP_EPOCHS = 1
THRESHOLDS = {"backbone": 0.5, "head": 7.0}
parts = {"backbone": list(model.backbone.parameters()), "head": list(model.head.parameters())}
optimizer = torch.optim.SGD([{"params": parts["backbone"], "lr": 2e-4}, {"params": parts["head"], "lr": 2e-3}])


def set_trainable(parameters, flag):
    for p in parameters:
        p.requires_grad_(flag)


set_trainable(parts["backbone"], False)
epoch = 0
for x, y in train_loader:
    if epoch >= WARM_UP_EPOCHS:
        set_trainable(parts["backbone"], True)
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, params in parts.items():
        clip_grad_norm_([p for p in params if p.grad is not None], THRESHOLDS[name])
    optimizer.step()
epoch += 1
