from torch.utils.data import DataLoader, Dataset

model = model.to(device)


class Pinned(Dataset):
    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x, y = self.base[i]
        return x.pin_memory(), y.pin_memory()


loader = DataLoader(Pinned(dataset), batch_size=batch_size, shuffle=True, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
