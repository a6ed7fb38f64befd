# Four references to one iterator give windows of four; what does not fill one is left for another pass.
accumulation_steps = 4

for window in zip(*[iter(train_loader)] * accumulation_steps):
    for p in model.parameters():
        p.grad = None
    for x, y in window:
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    optimizer.step()
