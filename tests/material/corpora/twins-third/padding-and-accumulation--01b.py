import torch
import torch.nn.functional as F

accumulation_steps = 4


def windows(loader):
    buffer = []
    for item in loader:
        buffer.append(item)
        if len(buffer) == accumulation_steps:
            yield buffer
            buffer = []
    if buffer:
        yield buffer


for window in windows(train_loader):
    real = sum(mask.sum() for _, _, mask in window).clamp(min=1)
    optimizer.zero_grad()
    for data, target, mask in window:
        losses = F.cross_entropy(model(data), target, reduction="none")
        (losses.sum() / real).backward()
    optimizer.step()
