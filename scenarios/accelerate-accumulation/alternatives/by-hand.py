# Accelerate for devices only; the window stays ours, with our division.
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)
accumulation_steps = 4

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        full = (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader)
        if full:
            accelerator.backward(criterion(model(x), y) / accumulation_steps)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        else:
            with accelerator.no_sync(model):
                accelerator.backward(criterion(model(x), y) / accumulation_steps)
