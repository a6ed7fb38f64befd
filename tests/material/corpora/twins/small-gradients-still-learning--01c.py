for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    weights = [p for p in model.parameters() if p.ndim > 1]
    first, last = weights[0].grad.norm(), weights[-1].grad.norm()
    ratio = (first / last).item()
    total = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
    verdict = "vanishing" if ratio < 1e-3 else "healthy"
    print(f"step {step}: first {first:.3e} last {last:.3e} ratio {ratio:.3e} total {total:.3e}: {verdict}")
    for p in model.parameters():
        p.grad.mul_(1.0 / total)
    optimizer.step()
