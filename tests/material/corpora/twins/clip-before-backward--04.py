import copy

average = copy.deepcopy(model)


@torch.no_grad()
def swap():
    for p, a in zip(model.parameters(), average.parameters()):
        held = p.detach().clone()
        p.copy_(a)
        a.copy_(held)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    with torch.no_grad():
        for p, a in zip(model.parameters(), average.parameters()):
            a.lerp_(p, 0.5)
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
