# Each worker has a block instead of every second record.
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, records):
        self.records = records

    def __iter__(self):
        info = get_worker_info()
        total = len(self.records)
        share = -(-total // (info.num_workers if info else 1))
        start = (info.id if info else 0) * share
        yield from (self.records[i] for i in range(start, min(start + share, total)))


loader = DataLoader(Stream(dataset), batch_size=batch_size, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
