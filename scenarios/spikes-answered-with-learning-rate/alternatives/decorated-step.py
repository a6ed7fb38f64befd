# A decorator bounds what a function has left in .grad, before the update that follows it.
import functools

import torch


def bounded(limit):
    def decorate(backward):
        @functools.wraps(backward)
        def wrapper(*args):
            loss = backward(*args)
            squares = [p.grad.pow(2).sum() for p in model.parameters()]
            factor = limit / max(limit, torch.stack(squares).sum().sqrt().item())
            for p in model.parameters():
                p.grad.mul_(factor)
            return loss

        return wrapper

    return decorate


@bounded(limit=2.0)
def loss_and_gradients(x, y):
    loss = criterion(model(x), y)
    loss.backward()
    return loss.item()


step, stream = 0, iter(train_loader)
while True:
    try:
        x, y = next(stream)
    except StopIteration:
        break
    optimizer.zero_grad()
    print(f"step {step}: loss {loss_and_gradients(x, y):.4f}")
    optimizer.step()
    step += 1
