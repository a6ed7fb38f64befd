accumulation_steps = 4


def average(opt, args, kwargs):
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.div_(accumulation_steps)


optimizer.register_step_pre_hook(average)
for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        criterion(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
