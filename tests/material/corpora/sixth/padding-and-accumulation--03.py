# Objective: the mean over all real (unmasked) rows of a window, like one large batch.
# Sums are accumulated as they come; the one division by the window's count follows at the end.
import torch.nn.functional as F

accumulation_steps = 4
count, held = 0.0, 0


def close_window():
    global count, held
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(max(count, 1.0))
    optimizer.step()
    optimizer.zero_grad()
    count, held = 0.0, 0


optimizer.zero_grad()
for data, target, mask in train_loader:
    losses = F.cross_entropy(model(data), target, reduction="none")
    (losses * mask).sum().backward()
    count += float(mask.sum())
    held += 1
    if held == accumulation_steps:
        close_window()
if held:
    close_window()
