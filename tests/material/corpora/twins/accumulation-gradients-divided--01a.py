accumulation_steps = 4

# the logged loss stays readable: autograd divides what it delivers
for p in model.parameters():
    p.register_post_accumulate_grad_hook(lambda q: setattr(q, "grad", q.grad / accumulation_steps))

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    print(f"loss {loss.item():.4f}")

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
