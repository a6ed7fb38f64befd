max_norm = 1.0
for step, (batch, labels) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"{step}: loss {loss.item():.4f}, norm {norm:.3f}")
