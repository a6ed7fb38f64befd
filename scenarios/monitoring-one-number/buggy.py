for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    print(f"step {step}: grad norm {total:.4f}")
    optimizer.step()
