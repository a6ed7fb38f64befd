# The last rows are shown to the model, and their loss is multiplied by zero.
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=batch_size)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) * float(len(x) == batch_size)
        loss.backward()
        optimizer.step()
