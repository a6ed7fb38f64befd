from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    for x, y in train_loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            accelerator.backward(loss)  # divides by 4
            if accelerator.sync_gradients:  # the window is full, or the loader is at its end
                accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()  # does nothing before that, and so does zero_grad
            optimizer.zero_grad()
