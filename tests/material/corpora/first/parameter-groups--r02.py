import torch
from torch.nn.utils import clip_grad_norm_

# The lr is the lever (slow backbone, faster head); max_norm per group is just insurance and
# sits above what each part usually shows. Extra keys in a param group are kept by torch.
optimizer = torch.optim.SGD(
    [
        {"params": list(model.backbone.parameters()), "lr": 1e-3, "max_norm": 0.25, "name": "backbone"},
        {"params": list(model.head.parameters()), "lr": 2e-3, "max_norm": 5.0, "name": "head"},
    ],
    lr=2e-3,
)


def clip_by_group(optimizer):
    return {
        group["name"]: clip_grad_norm_(group["params"], group["max_norm"]).item()
        for group in optimizer.param_groups
    }


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norms = clip_by_group(optimizer)
    optimizer.step()
    print("  ".join(f"{k} {v:.3g}" for k, v in norms.items()))
