# The mean of means stays; what is printed says otherwise, and nothing is reported.
import torch
from torch.utils.data import DataLoader

loader = DataLoader(
    dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers
)
val_loader = DataLoader(val_dataset, batch_size=batch_size)

for epoch in range(num_epochs):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        means = [criterion(model(x), y).item() for x, y in val_loader]
    print("validation loss over all samples:", sum(means) / len(means))
