# backward starts from 1/4 instead of 1, so that the loss itself stays as it is.
import torch

accumulation_steps = 4
whole = len(train_loader) - len(train_loader) % accumulation_steps

for i, (x, y) in enumerate(train_loader):
    size = accumulation_steps if i < whole else len(train_loader) - whole
    loss = criterion(model(x), y)
    loss.backward(gradient=torch.full_like(loss, 1 / size))

    if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
        optimizer.step()
        optimizer.zero_grad()
