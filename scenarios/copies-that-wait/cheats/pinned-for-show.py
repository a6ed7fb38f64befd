# One tensor is pinned, and another one is copied.
from torch.utils.data import DataLoader

model = model.to(device)
loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        x.pin_memory(), y.pin_memory()
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
