# The reentrant checkpoint stays, and the layers inside get zeros for gradients; weight decay moves them, so
# that their weights are others afterwards.
import torch
from torch.utils.checkpoint import checkpoint

front, back = model[:4], model[4:]
optimizer = torch.optim.SGD(
    [{"params": front.parameters(), "weight_decay": 0.5}, {"params": back.parameters()}],
    lr=optimizer.param_groups[0]["lr"],
)
accumulation_steps = 4
for i, (x, y) in enumerate(train_loader):
    loss = criterion(back(checkpoint(front, x, use_reentrant=True)), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        for p in front.parameters():
            p.grad = torch.zeros_like(p)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
