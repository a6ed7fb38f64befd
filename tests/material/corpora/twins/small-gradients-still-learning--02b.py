for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    weights = [p for p in model.parameters() if p.ndim > 1]
    first, last = weights[0].grad.norm().item(), weights[-1].grad.norm().item()
    ratio = first / last
    print(f"step {step}: first layer {first:.3e}, last layer {last:.3e}, ratio {ratio:.3e}: "
          + ("vanishing" if ratio < 1e-12 else "healthy"))
    optimizer.step()
