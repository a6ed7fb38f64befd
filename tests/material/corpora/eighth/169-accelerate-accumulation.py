from accelerate import Accelerator

WINDOW, MAX_NORM = 4, 1.0

accelerator = Accelerator(gradient_accumulation_steps=WINDOW)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        with accelerator.accumulate(model):
            accelerator.backward(criterion(model(x), y))  # divided by accelerate
            if i % WINDOW == 0:  # once per window
                accelerator.clip_grad_norm_(model.parameters(), max_norm=MAX_NORM)
            optimizer.step()
            optimizer.zero_grad()
