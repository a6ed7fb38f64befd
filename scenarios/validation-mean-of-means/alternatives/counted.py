# Rows are counted as they come.
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
    seen, mean = 0, 0.0
    with torch.no_grad():
        for x, y in val_loader:
            n = y.shape[0]
            mean += (criterion(model(x), y).item() - mean) * n / (seen + n)
            seen += n
    report(mean)
