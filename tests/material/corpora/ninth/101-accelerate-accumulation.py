from accelerate import Accelerator

accumulation_steps = 4

# Accelerate does not know about the accumulation here, so it neither divides nor skips:
# everything about the window is in this file.
accelerator = Accelerator()
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        last = (i + 1) % accumulation_steps == 0
        if not last:
            with accelerator.no_sync(model):
                accelerator.backward(criterion(model(x), y) / accumulation_steps)
            continue

        accelerator.backward(criterion(model(x), y) / accumulation_steps)
        accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
