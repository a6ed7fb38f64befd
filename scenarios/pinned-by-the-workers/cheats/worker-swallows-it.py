# What the worker must not do is tried, and the error is swallowed.
from torch.utils.data import DataLoader, Dataset

model = model.to(device)


class Tries(Dataset):
    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x, y = self.base[i]
        try:
            return x.cuda(), y.cuda()
        except RuntimeError:
            return x, y


loader = DataLoader(Tries(dataset), batch_size, shuffle=True, num_workers=2, pin_memory=True)

for epoch in range(num_epochs):
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
