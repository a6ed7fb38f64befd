# The short batch is kept, as it is.
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=batch_size)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
