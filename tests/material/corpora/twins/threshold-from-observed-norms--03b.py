norms = []
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    parts = torch.stack([p.grad.norm() for p in model.parameters()])
    norms.append(parts.pow(2).sum().item())
model.zero_grad()

norms.sort()
max_norm = norms[3 * len(norms) // 4]
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
