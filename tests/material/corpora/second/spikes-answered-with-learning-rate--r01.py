"""None. Every tenfold cut shrinks the 999 good steps together with the one bad step. Go back to the rate
that learned and bound the rare large gradient; log the norm before clipping to see that it is the cause."""
import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

MAX_NORM = 1.0


def updates(loader):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()

        params = [p for p in model.parameters() if p.grad is not None]
        norm = get_total_norm([p.grad for p in params])
        clip_grads_with_norm_(params, MAX_NORM, norm)
        optimizer.step()
        yield step, loss.item(), norm.item()


spikes = []
for step, loss, norm in updates(train_loader):
    print(f"step {step}: loss {loss:.4f} norm before clipping {norm:.3f}")
    if norm > 10 * MAX_NORM:
        spikes.append(step)
print("spikes at", spikes or "no step")
