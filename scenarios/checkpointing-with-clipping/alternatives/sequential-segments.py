# torch cuts the layers into segments by itself, and the clip is two calls.
import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.utils.checkpoint import checkpoint_sequential

accumulation_steps = 4
params = list(model.parameters())

for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    size = min(accumulation_steps, len(train_loader) - first)
    out = checkpoint_sequential(model, 2, x, use_reentrant=False)
    loss = criterion(out, y) / size
    loss.backward()

    if i + 1 == first + size:
        norm = get_total_norm([p.grad for p in params])
        clip_grads_with_norm_(params, 1.0, norm)
        optimizer.step()
        optimizer.zero_grad()
