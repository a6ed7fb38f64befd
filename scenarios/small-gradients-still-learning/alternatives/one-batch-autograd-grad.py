# Looked at once on a single batch, with autograd.grad, which leaves .grad alone. Then plain training.
import torch

x, y = next(iter(train_loader))
weights = {n: p for n, p in model.named_parameters() if p.dim() > 1}
grads = torch.autograd.grad(criterion(model(x), y), list(weights.values()))
sizes = {n: g.norm().item() for n, g in zip(weights, grads)}
for name, size in sizes.items():
    print(name, f"{size:.4e}")
values = list(sizes.values())
print("early/late", f"{values[0] / values[-1]:.3e}")

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
