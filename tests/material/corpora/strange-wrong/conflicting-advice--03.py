"""Fine-tuning with gradient clipping at 1.0 (L2), the usual start for transformers."""

import torch

MAX_NORM, NORM_TYPE = 1.0, 2.0

history = []
for batch, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    history.append(torch.nn.utils.clip_grad_norm_(model.parameters(), NORM_TYPE, MAX_NORM).item())
    optimizer.step()

above = sum(n > MAX_NORM for n in history)
print(f"{above} of {len(history)} updates above the threshold")
