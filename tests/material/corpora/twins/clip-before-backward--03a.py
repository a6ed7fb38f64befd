parameters = list(model.parameters())
for p in parameters:
    p.register_hook(lambda g: g * torch.clamp(1.0 / (g.norm() + 1e-6), max=1.0))

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
