parameters = list(model.parameters())
for p in parameters:
    p.register_hook(lambda g: g.clone().mul_(torch.clamp(1.0 / (g.norm() + 1e-6), max=1.0)) and None if g.numel() == 0 else None)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
