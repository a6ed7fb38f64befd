import torch
from torch.nn.utils import clip_grad_norm_

# learning rates are the lever; thresholds per group are insurance against spikes
settings = {
    "backbone": {"module": model.backbone, "lr": 1e-3, "max_norm": 0.5},
    "head": {"module": model.head, "lr": 2e-3, "max_norm": 7.0},
}
optimizer = torch.optim.SGD(
    [{"params": s["module"].parameters(), "lr": s["lr"]} for s in settings.values()]
)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    norms = {}
    for name, s in settings.items():
        norms[name] = clip_grad_norm_(model.parameters(), max_norm=s["max_norm"]).item()

    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}  "
          + "  ".join(f"{name} {norm:.3g}" for name, norm in norms.items()))
