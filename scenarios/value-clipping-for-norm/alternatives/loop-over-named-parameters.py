# A plain loop adds up squares over named parameters, a second one multiplies, without any helper.
import torch

clip_value = 0.5  # still the number, now of the whole

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    squares = 0.0
    for name, param in model.named_parameters():
        if param.grad is not None:
            squares += param.grad.pow(2).sum().item()
    norm = squares**0.5
    if norm > clip_value:
        for name, param in model.named_parameters():
            if param.grad is not None:
                param.grad.mul_(clip_value / norm)

    optimizer.step()
