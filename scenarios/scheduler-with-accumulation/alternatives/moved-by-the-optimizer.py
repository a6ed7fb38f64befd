# The schedule hangs on the optimizer: it moves after a step because there was one.
import torch

accumulation_steps = 4
updates = num_epochs * -(-len(train_loader) // accumulation_steps)
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=updates, power=1.0)
optimizer.register_step_post_hook(lambda *_: scheduler.step())

batches = list(train_loader)
for _ in range(num_epochs):
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = criterion(model(x), y) / len(window)
            loss.backward()
        optimizer.step()
