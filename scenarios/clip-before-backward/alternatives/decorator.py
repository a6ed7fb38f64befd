# A decorator clips what the function beneath it has left in the gradients.
import functools

import torch


def clipped(max_norm):
    def around(compute_gradients):
        @functools.wraps(compute_gradients)
        def wrapper(*args):
            loss = compute_gradients(*args)
            return loss, torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

        return wrapper

    return around


@clipped(max_norm=1.0)
def gradients(x, y):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss.item()


for step, (x, y) in enumerate(train_loader):
    loss, norm = gradients(x, y)
    optimizer.step()
    print(f"step {step}: loss {loss:.3f}, grad norm {norm:.3f}")
