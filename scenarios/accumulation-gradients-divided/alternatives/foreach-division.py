# The gradients are scaled all together, once a window, right before the step.
import torch

accumulation_steps = 4
params = [p for p in model.parameters() if p.requires_grad]
pending = 0

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    pending += 1
    print(f"batch {i}: loss {loss.item():.4f}")

    if pending == accumulation_steps or i == len(train_loader) - 1:
        torch._foreach_div_([p.grad for p in params], float(pending))
        optimizer.step()
        optimizer.zero_grad()
        pending = 0
