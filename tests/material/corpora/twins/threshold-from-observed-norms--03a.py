norms = []
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    parts = torch.stack([p.grad.norm() for p in model.parameters()])
    norms.append(parts.norm().item())
model.zero_grad()

max_norm = norms[len(norms) // 2]
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
