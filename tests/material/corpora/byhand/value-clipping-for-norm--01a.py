learning_rate = 0.05
params = list(model.parameters())
for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_value_(params, 1.0)
        with torch.no_grad():
            torch._foreach_add_(params, [p.grad for p in params], alpha=-learning_rate)
        torch._foreach_zero_([p.grad for p in params])
