import torch


@torch.no_grad()
def centralise_(parameters):
    """Subtract from each gradient of shape (out, ...) its mean over all axes but the first."""
    for parameter in parameters:
        if parameter.grad is not None and parameter.ndim > 1:
            axes = tuple(range(1, parameter.ndim))
            parameter.grad.sub_(parameter.grad.mean(dim=axes, keepdim=True))


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    centralise_(model.parameters())  # weights only; before a clip, if there is one
    optimizer.step()
