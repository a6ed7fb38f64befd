"""One clip per update.

Clipping after every backward works on a partial sum and changes its direction. The loop below
clips exactly once in each window of four, and the loss carries the division.
"""
import torch
from torch.nn.utils import clip_grad_norm_

ACCUMULATION_STEPS = 4
MAX_NORM = 1.0

optimizer.zero_grad()
for batch_index, (inputs, targets) in enumerate(train_loader):
    update, phase = divmod(batch_index, ACCUMULATION_STEPS)

    loss = criterion(model(inputs), targets) / ACCUMULATION_STEPS
    loss.backward()

    if phase == 0:
        # once per window
        norm = clip_grad_norm_(model.parameters(), max_norm=MAX_NORM)

    if phase == ACCUMULATION_STEPS - 1:
        optimizer.step()
        optimizer.zero_grad()
        print(f"update {update}: norm {norm:.4f}")
