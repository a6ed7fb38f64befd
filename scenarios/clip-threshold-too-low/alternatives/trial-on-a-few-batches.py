# A trial on a few batches shows the norms without a clip; training clips at 1.0, above all of them.
from itertools import islice

import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

seen = []
for x, y in islice(train_loader, 3):
    gradients = torch.autograd.grad(criterion(model(x), y), list(model.parameters()))
    seen.append(get_total_norm(gradients).item())
print("norms without a clip:", ", ".join(f"{norm:.2f}" for norm in seen))

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    norm = get_total_norm([p.grad for p in model.parameters()])
    clip_grads_with_norm_(model.parameters(), max_norm=1.0, total_norm=norm)
    optimizer.step()
