from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, records):
        self.records = records

    def __iter__(self):
        for i in range(len(self.records)):
            yield self.records[i]


loader = DataLoader(Stream(dataset), batch_size=batch_size, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
