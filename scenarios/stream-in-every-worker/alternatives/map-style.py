# What has numbers needs no stream: the loader hands them out.
from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    def __init__(self, records):
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        return self.records[i]


loader = DataLoader(Records(dataset), batch_size=batch_size, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
