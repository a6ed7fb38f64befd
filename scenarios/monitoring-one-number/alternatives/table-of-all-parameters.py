# A line for each parameter, with its ratio to the weight, in scientific notation.
from collections import defaultdict
history = defaultdict(list)
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    print(f"--- step {step} loss {loss.item():.4e}")
    for name, p in model.named_parameters():
        if p.grad is not None:
            g = p.grad.norm().item()
            history[name].append(g)
            print(f"{name:20s} {g:.3e}  grad/param {g / (p.norm().item() + 1e-12):.3e}")
    optimizer.step()
