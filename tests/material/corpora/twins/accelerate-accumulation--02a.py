from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
raw = optimizer
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for x, y in train_loader:
    with accelerator.accumulate(model):
        raw.zero_grad()
        accelerator.backward(criterion(model(x), y))
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
