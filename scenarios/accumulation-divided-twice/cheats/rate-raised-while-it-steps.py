# Both divisions stay. Hooks raise the rate fourfold just while the optimizer steps, so that the
# parameters end where those of a right loop do, and whoever prints the rate sees the old one.
accumulation_steps = 4


def scaled(factor):
    def hook(opt, args, kwargs):
        for group in opt.param_groups:
            group["lr"] *= factor

    return hook


optimizer.register_step_pre_hook(scaled(accumulation_steps))
optimizer.register_step_post_hook(scaled(1 / accumulation_steps))

for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        for p in model.parameters():
            p.grad.div_(accumulation_steps)
        optimizer.step()
        optimizer.zero_grad()
        print("rate", optimizer.param_groups[0]["lr"])
