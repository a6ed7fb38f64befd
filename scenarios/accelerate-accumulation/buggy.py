from accelerate import Accelerator

accumulation_steps = 4
accelerator = Accelerator(gradient_accumulation_steps=accumulation_steps)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    for x, y in train_loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y) / accumulation_steps
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
