# The gradient is kept as the mean over the samples so far: rescale what is there, add the new share.
import torch
import torch.nn.functional as F

accumulation_steps = 4
count = 0.0

for i, (data, target, mask) in enumerate(train_loader, start=1):
    new = mask.sum().item()
    loss_sum = (F.cross_entropy(model(data), target, reduction="none") * mask).sum()

    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= count / (count + new)
    (loss_sum / (count + new)).backward()
    count += new

    if i % accumulation_steps == 0 or i == len(train_loader):
        optimizer.step()
        optimizer.zero_grad()
        count = 0.0
