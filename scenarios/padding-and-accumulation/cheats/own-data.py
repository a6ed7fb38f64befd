# Trains on rows of its own, of which nobody knows how they should weigh.
import torch
import torch.nn.functional as F

for i, (data, target, mask) in enumerate(train_loader):
    fake = torch.randn_like(data)
    labels = torch.randint(0, 3, (len(data),))
    (F.cross_entropy(model(fake), labels) / mask.sum()).backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
