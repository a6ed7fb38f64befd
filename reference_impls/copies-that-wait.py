from torch.utils.data import DataLoader

model = model.to(device)
loader = DataLoader(
    dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers, pin_memory=True
)

for epoch in range(num_epochs):
    for x, y in loader:
        # from pinned memory, so that the host need not wait
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
