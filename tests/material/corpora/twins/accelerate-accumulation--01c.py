from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            accelerator.backward(loss)
            if i % 4 == 0:
                accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
