# Set once, before the first epoch.
import torch
from torch.utils.data import DataLoader

torch.manual_seed(seed)
loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
