import torch
from torch.utils.checkpoint import checkpoint_sequential

K = 4
batches = list(train_loader)

optimizer.zero_grad()
for start in range(0, len(batches), K):
    window = batches[start : start + K]
    for x, y in window:
        out = checkpoint_sequential(model, 2, x, use_reentrant=False)
        (criterion(out, y) / len(window)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
