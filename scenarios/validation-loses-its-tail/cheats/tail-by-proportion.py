# The tail is left out, and the sum is stretched to the number of rows.
import torch
from torch.utils.data import DataLoader

loader = DataLoader(
    dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers, drop_last=True
)
val_loader = DataLoader(val_dataset, batch_size=batch_size, drop_last=True)

for epoch in range(num_epochs):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            total += criterion(model(x), y).item() * len(x)
    report(total / len(val_dataset) * len(val_dataset) / (len(val_loader) * batch_size))
