# Gradients divided once, by what the window really holds, just before the step.
accumulation_steps = 4
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    criterion(model(x), y).backward()
    if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
        n = (i % accumulation_steps) + 1
        for p in model.parameters():
            p.grad /= n
        optimizer.step()
        optimizer.zero_grad()
