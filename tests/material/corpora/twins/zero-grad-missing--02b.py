accumulation_steps = 4


def clear(parameters):
    for p in parameters:
        if p.grad is not None:
            if p.grad.norm() > 0.05:
                p.grad.zero_()


for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        clear(model.parameters())
