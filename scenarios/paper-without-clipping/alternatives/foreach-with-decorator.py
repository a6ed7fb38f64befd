# A decorated step function, torch._foreach_ for the arithmetic.
import functools

import torch


def clipped(limit):
    def decorate(backward):
        @functools.wraps(backward)
        def inner(loss):
            backward(loss)
            grads = [p.grad for p in model.parameters()]
            norm = torch.stack(torch._foreach_norm(grads)).norm()
            torch._foreach_div_(grads, torch.clamp(norm / limit, min=1.0))
            return norm

        return inner

    return decorate


@clipped(limit=1.0)
def backward(loss):
    loss.backward()


for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=False)
        norm = backward(criterion(model(x), y))
        optimizer.step()
    print(f"epoch {epoch + 1}, last norm {norm:.2f}")
