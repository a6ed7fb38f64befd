max_norm = 0.01

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    print(f"norm {norm:.2f} -> {min(norm.item(), max_norm):.2f}")
