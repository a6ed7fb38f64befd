weights = [p for p in model.parameters() if p.ndim > 1]
biases = [p for p in model.parameters() if p.ndim == 1]
optimizer = torch.optim.SGD([{"params": weights, "weight_decay": 1e-3}], lr=0.05)
everything = weights + biases
optimizer.add_param_group({"params": biases})

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(everything, max_norm=1.0)
    optimizer.step()
