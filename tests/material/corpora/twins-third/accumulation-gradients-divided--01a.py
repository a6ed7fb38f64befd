import torch

accumulation_steps = 4
total = len(train_loader)


@torch.no_grad()
def average_gradients(count):
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= count


for epoch in range(2):
    pending = 0
    for i, (x, y) in enumerate(train_loader, 1):
        loss = criterion(model(x), y)
        loss.backward()
        pending += 1
        if pending == accumulation_steps or i == total:
            average_gradients(pending)
            optimizer.step()
            optimizer.zero_grad()
            pending = 1
