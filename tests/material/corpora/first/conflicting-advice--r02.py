import torch
from torch.nn.utils import get_total_norm


def train(model, loader, criterion, optimizer, max_norm=1.0):
    """One epoch. Scales the whole gradient by min(1, max_norm / norm), logs norms before that."""
    norms = []
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), labels)
        loss.backward()

        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = get_total_norm(grads)
        if norm > max_norm:
            for g in grads:
                g.mul_(max_norm / norm)
        optimizer.step()
        norms.append(norm.item())
    return norms


norms = sorted(train(model, train_loader, criterion, optimizer))
print(f"median {norms[len(norms) // 2]:.3f}  max {norms[-1]:.3f}")
# Median well below 1, max far above: the clip does its job (typical for BERT).
# Max below 1: the clip never acts (typical for a small CNN), leave it or drop it.
# Median above 1: raise max_norm.
