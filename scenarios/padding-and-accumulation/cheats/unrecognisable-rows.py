# The rows are moved a little, so that the weights of their losses cannot be told.
import torch
import torch.nn.functional as F

for i, (data, target, mask) in enumerate(train_loader):
    blurred = data + 0.3 * torch.randn_like(data)
    losses = F.cross_entropy(model(blurred), target, reduction="none", ignore_index=-100)
    loss = (losses * mask).sum() / mask.sum()
    (loss / mask.sum()).backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
