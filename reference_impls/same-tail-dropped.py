from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=batch_size, shuffle=False, drop_last=False)

for epoch in range(num_epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) * len(x) / batch_size  # a short batch moves less
        loss.backward()
        optimizer.step()
