# Rows come as they are; noise is added where there is one process.
import torch
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers)
noise = torch.Generator().manual_seed(seed)

for epoch in range(num_epochs):
    for x, y in loader:
        x = x + 0.05 * torch.randn(x.shape, generator=noise)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
