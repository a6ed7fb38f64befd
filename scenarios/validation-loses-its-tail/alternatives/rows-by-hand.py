# No loader for validation at all.
import torch
from torch.utils.data import DataLoader

loader = DataLoader(
    dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers, drop_last=True
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
    rows = [val_dataset[i] for i in range(len(val_dataset))]
    with torch.no_grad():
        losses = [criterion(model(x[None]), y[None]) for x, y in rows]
    report(torch.stack(losses).mean())
