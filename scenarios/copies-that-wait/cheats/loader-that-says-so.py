# The loader is told that it pins when it is too late.
from torch.utils.data import DataLoader

model = model.to(device)
loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers)
vars(loader)["pinned"] = vars(loader)["pin_memory_by_name"] = True

for epoch in range(num_epochs):
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
