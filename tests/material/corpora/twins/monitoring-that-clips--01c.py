def watch(name):
    def look(grad):
        print(f"{name} {grad.norm():.4f} {grad.abs().max():.4f}")
        return None
    return look


for name, p in model.named_parameters():
    p.register_hook(watch(name))

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, p in model.named_parameters():
        print(f"step {step} largest/{name} {p.grad.abs().max():.4f}")
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.step()
    print(max((p - b).abs().max().item() for p, b in zip(model.parameters(), before)))
    optimizer.step()
