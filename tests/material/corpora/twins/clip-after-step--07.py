params = [p for p in model.parameters() if p.requires_grad]
grads = None

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=False)
    criterion(model(x), y).backward()
    if grads is None:
        grads = [p.grad for p in params]
    norm = torch.nn.utils.get_total_norm(grads)
    torch.nn.utils.clip_grads_with_norm_(params, 1.0, norm)
    optimizer.step()
