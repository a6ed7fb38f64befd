# The flag of DDP set before each forward; windows are drawn from an iterator.
model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
it = iter(train_loader)
for update in range(len(train_loader) // accumulation_steps):
    for micro in range(accumulation_steps):
        x, y = next(it)
        model.require_backward_grad_sync = micro == accumulation_steps - 1
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
