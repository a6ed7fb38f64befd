# The optimizer's groups carry their thresholds themselves.
import torch

optimizer = torch.optim.SGD(
    [
        {"params": model.backbone.parameters(), "lr": 1e-3, "max_norm": 0.5},
        {"params": model.head.parameters(), "lr": 5e-3, "max_norm": 5.0},
    ],
    lr=1e-3,
)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], group["max_norm"])
    optimizer.step()
