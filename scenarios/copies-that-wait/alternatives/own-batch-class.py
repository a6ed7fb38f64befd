# A batch of one's own says how it is pinned.
from torch.utils.data import DataLoader

model = model.to(device)


class Pair(tuple):
    pass


loader = DataLoader(dataset, batch_size, True, num_workers=2, pin_memory=True, prefetch_factor=4)

for epoch in range(num_epochs):
    for batch in loader:
        x, y = Pair(batch)
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
