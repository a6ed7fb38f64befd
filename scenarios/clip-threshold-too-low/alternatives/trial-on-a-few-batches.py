# A trial on a few batches shows the norms without a clip; training clips at 1.0, above all of them.
from itertools import islice

import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm


def gradient_norm():
    return get_total_norm([p.grad for p in model.parameters()])


seen = []
for x, y in islice(train_loader, 3):
    model.zero_grad()
    criterion(model(x), y).backward()
    seen.append(gradient_norm().item())
print("norms without a clip:", ", ".join(f"{norm:.2f}" for norm in seen))

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    clip_grads_with_norm_(model.parameters(), max_norm=1.0, total_norm=gradient_norm())
    optimizer.step()
