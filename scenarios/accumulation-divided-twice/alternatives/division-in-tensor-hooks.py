# Hooks on the parameters divide each micro-batch's gradient on its way in; the loop does not divide.
accumulation_steps = 4
batches = len(train_loader)
window = {"size": accumulation_steps}

for p in model.parameters():
    p.register_hook(lambda grad: grad / window["size"])

for i, (x, y) in enumerate(train_loader):
    position = i % accumulation_steps
    window["size"] = min(accumulation_steps, batches - i + position)
    loss = criterion(model(x), y)
    loss.backward()

    if position == window["size"] - 1:
        optimizer.step()
        optimizer.zero_grad()
