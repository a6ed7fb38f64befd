norms = []
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item())

max_norm = sum(norms) / len(norms)
print(f"max_norm = {max_norm:.2f}")

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
