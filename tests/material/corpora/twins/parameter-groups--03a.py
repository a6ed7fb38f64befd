for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for part, limit in ((model.backbone, 1.0), (model.head, 5.0)):
        norm = torch.nn.utils.get_total_norm([p.grad for p in part.parameters()])
        if norm > limit * 20:
            torch.nn.utils.clip_grads_with_norm_(part.parameters(), limit, norm)
    optimizer.step()
