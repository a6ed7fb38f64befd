import statistics

import torch

# The mean is made by the spike it is supposed to catch. The median is not.
observed = []
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    squares = [p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None]
    observed.append(torch.stack(squares).sum().sqrt().item())

typical = statistics.median(observed)
max_norm = 3.0 * typical
print(f"typical {typical:.2f}, largest {max(observed):.2f} -> max_norm {max_norm:.2f}")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
