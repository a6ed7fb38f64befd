# The collate function runs in the worker too, where torch's generator is seeded.
import torch
from torch.utils.data import DataLoader, default_collate


def noisy(rows):
    x, y = default_collate(rows)
    return x + 0.05 * torch.randn_like(x), y


loader = DataLoader(
    dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers, collate_fn=noisy
)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
