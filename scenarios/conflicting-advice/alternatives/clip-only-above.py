# The norm is measured first; gradients are touched only where it exceeds the threshold.
import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

THRESHOLD = 1.0
acted = 0
for step, (batch, labels) in enumerate(train_loader, 1):
    optimizer.zero_grad(set_to_none=True)
    criterion(model(batch), labels).backward()
    parameters = [p for p in model.parameters() if p.grad is not None]
    norm = get_total_norm([p.grad for p in parameters])
    if norm > THRESHOLD:
        clip_grads_with_norm_(parameters, THRESHOLD, norm)
        acted += 1
    optimizer.step()
print(f"clipping acted in {acted} of {step} updates")
