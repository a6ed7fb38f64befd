from statistics import median

import torch

# Norms as they are, before any clip: one pass that changes nothing.
norms = []
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item())

# A few times the median: the spikes that are to be clipped have no say in it.
max_norm = 4.0 * median(norms)
above = sum(norm > max_norm for norm in norms)
print(f"median {median(norms):.2f}, max_norm {max_norm:.2f}, {above} of {len(norms)} above")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
