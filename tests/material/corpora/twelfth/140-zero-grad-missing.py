"""No schedule needed: gradients were never cleared. One flat buffer, views as .grad, cleared in one call."""
import torch

accumulation_steps = 4
parameters = [p for p in model.parameters() if p.requires_grad]
buffer = torch.zeros(sum(p.numel() for p in parameters))
offset = 0
for p in parameters:
    p.grad = buffer[offset:offset + p.numel()].view_as(p)
    offset += p.numel()

total = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    width = min(accumulation_steps, total - i // accumulation_steps * accumulation_steps)
    loss = criterion(model(x), y) / width
    loss.backward()
    if i % accumulation_steps == width - 1:
        optimizer.step()
        buffer.zero_()
