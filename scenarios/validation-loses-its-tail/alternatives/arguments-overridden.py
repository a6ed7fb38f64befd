# The common arguments stay, and validation overrides one.
import torch
from torch.utils.data import DataLoader

common = dict(batch_size=batch_size, num_workers=num_workers, drop_last=True)
loader = DataLoader(dataset, shuffle=True, **common)
val_loader = DataLoader(val_dataset, **{**common, "drop_last": False})

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
    report(total / len(val_loader.dataset))
