"""The logged 0.0 is the norm of nothing: between zero_grad() and backward() there are no gradients.
So they do not vanish, they explode unclipped. Neither He nor GELU first: move the clip."""
import torch
from torch.nn.utils import parameters_to_vector

MAX_NORM = 1.0


@torch.no_grad()
def total_grad_norm(parameters):
    return parameters_to_vector(p.grad for p in parameters if p.grad is not None).norm(2)


@torch.no_grad()
def clip_(parameters, max_norm):
    parameters = list(parameters)
    norm = total_grad_norm(parameters)
    factor = min(1.0, max_norm / (norm.item() + 1e-6))
    if factor < 1.0:
        for p in parameters:
            if p.grad is not None:
                p.grad *= factor
    return norm


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip_(model.parameters(), MAX_NORM)
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm.item():.3f}")
