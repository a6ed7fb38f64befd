# The order stays; within a batch rows change places, which changes no gradient.
import torch
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers)

for epoch in range(num_epochs):
    torch.manual_seed(seed)
    for x, y in loader:
        x, y = x.roll(epoch, dims=0), y.roll(epoch, dims=0)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
