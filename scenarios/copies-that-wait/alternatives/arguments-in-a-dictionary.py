# The arguments of loaders are kept in one place.
import torch
from torch.utils.data import DataLoader

model = model.to(device)
how = {"num_workers": num_workers, "pin_memory": torch.cuda.is_available(), "batch_size": batch_size}
loader = DataLoader(dataset, shuffle=True, **how)

for epoch in range(num_epochs):
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
