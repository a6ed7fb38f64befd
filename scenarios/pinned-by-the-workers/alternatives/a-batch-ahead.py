# The next batch is copied while this one is trained on.
from torch.utils.data import DataLoader

model = model.to(device)
loader = DataLoader(dataset, batch_size, shuffle=True, num_workers=2, pin_memory=True)


def ahead(batches):
    waiting = None
    for batch in batches:
        moved = [part.to(device, non_blocking=True) for part in batch]
        if waiting is not None:
            yield waiting
        waiting = moved
    if waiting is not None:
        yield waiting


for epoch in range(num_epochs):
    for x, y in ahead(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
