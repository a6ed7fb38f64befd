norms = []
for x, y in train_loader:
    criterion(model(x), y).backward()
    norms.append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
    model.zero_grad()

max_norm = torch.tensor(norms).quantile(0.99).item()
print(f"max_norm = {max_norm:.2f}")

for x, y in train_loader:
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
