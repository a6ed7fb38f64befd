# One line an update: norms of all layers, first to last.
def layerwise(model):
    for name, module in model.named_modules():
        grads = [p.grad for p in module.parameters(recurse=False) if p.grad is not None]
        if grads:
            yield name, sum(float((g.double() ** 2).sum()) for g in grads) ** 0.5


step = 0
for inputs, labels in train_loader:
    optimizer.zero_grad()
    output = model(inputs)
    loss = criterion(output, labels)
    loss.backward()
    print(step, " ".join(f"{name}={norm:.2e}" for name, norm in layerwise(model)), f"loss={loss.item():.3e}")
    optimizer.step()
    step += 1
