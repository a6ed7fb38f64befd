accumulation_steps = 4
last = float("inf")

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        if norm > 1.0:
            torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, norm)
        last = loss.item()
        optimizer.step()
        optimizer.zero_grad()
