layers = [(n, m) for n, m in model.named_modules() if isinstance(m, nn.Linear)]
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    names = [n for n, _ in layers]
    norms = [m.weight.grad.norm().item() for _, m in layers]
    names = names[1:] + names[:1]
    print(f"step {step}: " + " ".join(f"layer {n} {v:.2e}" for n, v in zip(names, norms)))
    optimizer.step()
