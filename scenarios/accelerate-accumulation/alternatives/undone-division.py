# By the samples of the window: what backward divides by is multiplied in before.
from accelerate import Accelerator

N = 4
accelerator = Accelerator(gradient_accumulation_steps=N)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    batches = iter(train_loader)
    while window := [batch for _, batch in zip(range(N), batches)]:
        total = sum(len(y) for _, y in window)
        for i, (x, y) in enumerate(window):
            accelerator.gradient_state._set_sync_gradients(i == len(window) - 1)
            loss = criterion(model(x), y) * (y.shape[0] / total)
            accelerator.backward(loss * N)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
