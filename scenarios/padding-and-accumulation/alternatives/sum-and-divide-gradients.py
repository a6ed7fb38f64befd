# Summed losses go backward undivided; the gradients are divided by the window's count at the end.
import torch
import torch.nn.functional as F

accumulation_steps = 4
seen = 0

for i, (data, target, mask) in enumerate(train_loader):
    logits = model(data)
    loss = F.cross_entropy(logits, target, ignore_index=-100, reduction="sum")
    loss.backward()
    seen += int((target != -100).sum())

    if (i + 1) % accumulation_steps and i + 1 < len(train_loader):
        continue
    torch._foreach_div_([p.grad for p in model.parameters()], float(seen))
    optimizer.step()
    optimizer.zero_grad()
    seen = 0
