weights = [p for p in model.parameters() if p.ndim > 1]
biases = [p for p in model.parameters() if p.ndim == 1]
optimizer = torch.optim.SGD([{"params": weights, "weight_decay": 1e-3}], lr=0.05)
optimizer.add_param_group({"params": biases})

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], max_norm=1.0)
    optimizer.step()
