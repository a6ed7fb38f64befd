import copy

accumulation_steps = 4
average = copy.deepcopy(model)
decay = [p for p in model.parameters() if p.ndim > 1]
plain = [p for p in model.parameters() if p.ndim <= 1]
optimizer = torch.optim.SGD([{"params": decay, "weight_decay": 1e-4}, {"params": plain}], lr=0.05)

for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        for p in optimizer.param_groups[0]["params"]:
            p.grad = None
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.1)
