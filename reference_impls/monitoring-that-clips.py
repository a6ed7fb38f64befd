from math import sqrt

import torch


@torch.no_grad()
def log_gradients(model, step, log):
    """Log the norm of each gradient, its ratio to the norm of its parameter, and the whole norm."""
    squares = 0.0
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            continue
        norm, size = parameter.grad.norm().item(), parameter.norm().item()
        log(f"gradient/{name}", norm, step)
        if size > 0:
            log(f"ratio/{name}", norm / size, step)
        squares += norm**2
    log("gradient_norm", sqrt(squares), step)


def log(name, value, step):  # SummaryWriter.add_scalar takes the same three
    print(f"step {step} {name} {value:.4e}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    log_gradients(model, step, log)  # only reads
    optimizer.step()
