# Each sample's loss, and one mean at the end.
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
    losses = []
    with torch.no_grad():
        for x, y in val_loader:
            losses.append(torch.nn.functional.mse_loss(model(x), y, reduction="none").mean(dim=1))
    report(torch.cat(losses).mean().item())
