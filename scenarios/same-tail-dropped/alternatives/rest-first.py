# The short batch comes first, so that the newest rows fill theirs.
from torch.utils.data import DataLoader

rest = len(dataset) % batch_size
order = list(range(len(dataset)))
batches = [order[:rest], *(order[i : i + batch_size] for i in range(rest, len(order), batch_size))]

for epoch in range(num_epochs):
    for x, y in DataLoader(dataset, batch_sampler=batches):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
