# Every micro-batch is a window of its own, under a number of steps that says otherwise.
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    for x, y in train_loader:
        with accelerator.accumulate(model):
            accelerator.gradient_state._set_sync_gradients(True)
            accelerator.backward(criterion(model(x), y) * accelerator.gradient_accumulation_steps)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
