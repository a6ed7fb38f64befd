norms = []
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    norms.append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]))
    optimizer.step()

max_norm = torch.stack(norms).median().item()

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
