total = num_epochs * len(train_loader)
step = 0
for p in model.parameters():
    p.register_hook(lambda g: g / g.norm().clamp(min=1.0))
for epoch in range(num_epochs):
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=100.0)
        optimizer.step()
        step += 1
