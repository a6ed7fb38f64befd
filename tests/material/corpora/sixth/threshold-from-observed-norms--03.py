"""A threshold from observed norms: median plus a margin of robust spreads (MAD).

The mean of the norms is made by the very spike that the threshold has to catch.
"""
from statistics import median

import torch


def observed_norms(model, loader, loss_fn):
    for x, y in loader:
        model.zero_grad()
        loss_fn(model(x), y).backward()
        yield torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
    model.zero_grad()


def robust_threshold(norms, spreads=5.0, at_least=2.0):
    centre = median(norms)
    spread = 1.4826 * median(abs(n - centre) for n in norms)
    return max(centre + spreads * spread, at_least * centre)


norms = list(observed_norms(model, train_loader, criterion))
max_norm = robust_threshold(norms)
print(f"median {median(norms):.2f}, largest {max(norms):.1f}, max_norm {max_norm:.2f}")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
