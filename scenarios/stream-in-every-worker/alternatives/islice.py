# itertools cuts the stream; the records of others are read and thrown away.
from itertools import islice

from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, records):
        self.records = records

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        everything = (self.records[i] for i in range(len(self.records)))
        if info is None:
            return everything
        return islice(everything, info.id, None, info.num_workers)


loader = DataLoader(Stream(dataset), batch_size=batch_size, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
