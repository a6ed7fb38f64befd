step_size = 0.05
for epoch in range(num_epochs):
    for x, y in train_loader:
        model.zero_grad()
        criterion(model(x), y).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p - step_size * p.grad)
        print(f"{norm:.3f}")
