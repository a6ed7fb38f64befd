"""Clip at 1.0, log norms before clipping, decide by what you see."""
import torch

MAX_NORM = 1.0


def clip_gradients(model, max_norm):
    """Returns the norm of each parameter's gradient before clipping."""
    norms = {}
    for name, p in model.named_parameters():
        if p.grad is not None:
            norms[name] = torch.nn.utils.clip_grad_norm_(p, max_norm).item()
    return norms


history = []
for batch, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    norms = clip_gradients(model, MAX_NORM)
    optimizer.step()
    history.append(max(norms.values()))

print(f"largest norm seen {max(history):.2f}, clipped in "
      f"{sum(h > MAX_NORM for h in history)} of {len(history)} updates")
