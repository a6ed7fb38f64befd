# Not OK to send: the mean is dominated by the one bad batch, so the threshold is about as large as what it is meant to
# catch. The idea (measure, then choose) is right. Use a robust statistic: a trimmed mean without the most extreme part,
# and a few times that, so that ordinary updates pass.
import torch

TRIM = 0.125  # part of the batches that has no say
FACTOR = 4.0

norms = []
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norms.append(torch.nn.utils.get_total_norm(grads).item())  # reads only


def trimmed_mean(values, part):
    """Mean of what is left after the largest values have been dropped."""
    drop = max(1, int(part * len(values)))
    kept = sorted(values)[drop:]
    return sum(kept) / len(kept)


max_norm = FACTOR * trimmed_mean(norms, TRIM)
above = sum(n > max_norm for n in norms)
print(f"max_norm = {max_norm:.2f}, {above} of {len(norms)} batches above it")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
