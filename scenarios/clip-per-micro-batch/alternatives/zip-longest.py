# Windows by the grouper recipe: one iterator four times over, filled up with None, then cleaned of it.
from itertools import zip_longest

import torch

for padded in zip_longest(*[iter(train_loader)] * 4):
    window = [batch for batch in padded if batch is not None]
    optimizer.zero_grad()
    for x, y in window:
        (criterion(model(x), y) / len(window)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
