# A function moves whatever a batch holds.
from torch.utils.data import DataLoader

model = model.to(device)
loader = DataLoader(dataset, batch_size, shuffle=True, num_workers=num_workers, pin_memory=True)


def moved(batch):
    return [part.to(device=device, non_blocking=True) for part in batch]


for epoch in range(num_epochs):
    for x, y in map(moved, loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
