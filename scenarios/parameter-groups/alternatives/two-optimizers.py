# Two optimizers, two thresholds.
import torch
from torch.nn.utils import clip_grad_norm_

parts = {
    "backbone": (model.backbone, torch.optim.SGD(model.backbone.parameters(), lr=1e-3), 0.2),
    "head": (model.head, torch.optim.SGD(model.head.parameters(), lr=1e-3, momentum=0.9), 7.0),
}

for x, y in train_loader:
    for _, opt, _ in parts.values():
        opt.zero_grad(set_to_none=True)
    criterion(model(x), y).backward()
    for module, opt, limit in parts.values():
        clip_grad_norm_(module.parameters(), limit)
        opt.step()
