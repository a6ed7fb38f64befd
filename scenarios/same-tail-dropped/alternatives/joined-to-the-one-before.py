# The last rows join the batch before them.
from torch.utils.data import DataLoader

order = list(range(len(dataset)))
batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
if len(batches[-1]) < batch_size // 2:
    batches[-2:] = [batches[-2] + batches[-1]]
loader = DataLoader(dataset, batch_sampler=batches, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
