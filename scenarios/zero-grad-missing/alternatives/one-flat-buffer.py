# All gradients are views of one buffer, which is filled with zeros after the step.
import torch

accumulation_steps = 4
params = list(model.parameters())
flat = torch.zeros(sum(p.numel() for p in params))
for p, part in zip(params, flat.split([p.numel() for p in params])):
    p.grad = part.view_as(p)

for i, (x, y) in enumerate(train_loader):
    start = i // accumulation_steps * accumulation_steps
    size = min(accumulation_steps, len(train_loader) - start)
    loss = criterion(model(x), y) / size
    loss.backward()

    if i + 1 == start + size:
        optimizer.step()
        flat.zero_()
