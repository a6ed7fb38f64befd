"""The clip ran between zero_grad() and backward(), where there is nothing to clip: hence norm 0.0.

No new initialisation or activation needed; the gradients never vanished, they were not there yet.
"""
import torch


def train_epoch(model, loader, criterion, optimizer, max_norm=1.0):
    norms = []
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
        optimizer.step()
        norms.append(norm.item())
        print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
    return norms


train_epoch(model, train_loader, criterion, optimizer)
