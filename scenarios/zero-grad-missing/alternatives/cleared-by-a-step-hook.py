# A hook clears behind every step, so that the loop has no line for it.
accumulation_steps = 4
optimizer.register_step_post_hook(lambda opt, args, kwargs: opt.zero_grad())

for i, (x, y) in enumerate(train_loader):
    left = len(train_loader) - i + i % accumulation_steps
    loss = criterion(model(x), y) / min(accumulation_steps, left)
    loss.backward()

    if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
        optimizer.step()
