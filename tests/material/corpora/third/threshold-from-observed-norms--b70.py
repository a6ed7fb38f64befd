# The mean follows the one batch that is to be clipped. Quartiles do not.
import torch


def observe(model, loader, criterion):
    """Gradient norm of each batch; nothing is updated, nothing is scaled."""
    found = []
    for x, y in loader:
        model.zero_grad(set_to_none=True)
        criterion(model(x), y).backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        found.append(torch.nn.utils.get_total_norm(grads))
    model.zero_grad(set_to_none=True)
    return torch.stack(found)


def choose(norms):
    """Tukey's far fence."""
    q1, q3 = torch.quantile(norms, torch.tensor([0.25, 0.75]))
    return (q3 + 3 * (q3 - q1)).item()


norms = observe(model, train_loader, criterion)
max_norm = choose(norms)
print(f"median {norms.median():.2f}, mean {norms.mean():.2f} (useless), max_norm {max_norm:.2f}")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
