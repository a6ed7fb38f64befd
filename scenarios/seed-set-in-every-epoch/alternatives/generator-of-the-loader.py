# The loader has a generator, whose state goes into the checkpoint.
import torch
from torch.utils.data import DataLoader

order = torch.Generator().manual_seed(seed)
loader = DataLoader(dataset, batch_size, shuffle=True, num_workers=num_workers, generator=order)
states = []

for epoch in range(num_epochs):
    states.append(order.get_state())
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
