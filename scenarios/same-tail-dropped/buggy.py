from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=batch_size, shuffle=False, drop_last=True)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
