# All outputs are kept and the loss is computed once.
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
    with torch.inference_mode():
        outputs = torch.cat([model(x) for x, _ in val_loader])
        targets = torch.cat([y for _, y in val_loader])
        report(criterion(outputs, targets))
