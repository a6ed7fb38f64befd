import torch
from torch.utils.checkpoint import checkpoint

K = 4
n = len(train_loader)
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    hidden = checkpoint(model[:4], x, use_reentrant=False)
    out = model[4:](hidden)
    (criterion(out, y) / min(K, n - i // K * K)).backward()
    if (i + 1) % K == 0 or i + 1 == n:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
