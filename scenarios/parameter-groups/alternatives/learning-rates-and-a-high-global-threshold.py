# Learning rates do the work; one global threshold above the head's usual norms catches spikes.
import torch

optimizer = torch.optim.SGD(
    [{"params": model.backbone.parameters(), "lr": 2e-4}, {"params": model.head.parameters()}],
    lr=2e-3,
)
MAX_NORM = 25.0

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    if norm > MAX_NORM:
        print(f"step {step}: spike, norm {norm:.1f}")
    optimizer.step()
