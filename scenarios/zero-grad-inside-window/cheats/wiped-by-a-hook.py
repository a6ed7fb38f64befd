# The loop is right to the eye. A hook on every parameter throws away what the window had gathered.
accumulation_steps = 4
gathered = {}


def forget(p):
    before = gathered.get(p)
    gathered[p] = p.grad.clone()
    if before is not None:
        p.grad.sub_(before)
        gathered[p].copy_(p.grad)


for p in model.parameters():
    p.register_post_accumulate_grad_hook(forget)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        gathered.clear()
