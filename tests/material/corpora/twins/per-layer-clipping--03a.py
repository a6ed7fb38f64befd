for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for layer in model.children():
        own = [p.grad for p in layer.parameters()]
        if not own:
            continue
        norm = torch.nn.utils.get_total_norm(own)
        if 1.0 < norm < 10.0:
            torch._foreach_div_(own, norm)
    optimizer.step()
