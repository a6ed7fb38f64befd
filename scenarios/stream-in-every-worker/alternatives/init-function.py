# worker_init_fn cuts the copy of each worker.
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, records):
        self.records = records

    def __iter__(self):
        for i in self.numbers:
            yield self.records[i]


def cut(worker_id):
    info = get_worker_info()
    info.dataset.numbers = range(worker_id, len(info.dataset.records), info.num_workers)


data = Stream(dataset)
data.numbers = range(len(dataset))
loader = DataLoader(data, batch_size=batch_size, num_workers=num_workers, worker_init_fn=cut)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
