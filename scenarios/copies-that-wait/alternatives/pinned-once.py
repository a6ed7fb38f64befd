# A data set that fits into memory is gathered and pinned batch by batch.
from torch.utils.data import DataLoader, default_collate

model = model.to(device)
loader = DataLoader(
    dataset, batch_size, shuffle=True, num_workers=2, collate_fn=lambda rows: default_collate(rows)
)

for epoch in range(num_epochs):
    for x, y in loader:
        x, y = x.pin_memory(), y.pin_memory()
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
