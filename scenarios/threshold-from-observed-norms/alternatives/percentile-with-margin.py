# A high percentile of norms that were computed by hand, with a margin.
import numpy as np
norms = []
for i, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    norms.append(float(total))
optimizer.zero_grad()
max_norm = float(np.percentile(norms, 90)) * 1.5
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
