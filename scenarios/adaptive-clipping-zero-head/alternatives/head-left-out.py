# As in the paper, the last layer is left out: two lists of tensors, and only the body's is bounded.
import torch

*body, weight, bias = model.parameters()
torch.nn.init.zeros_(weight)
torch.nn.init.zeros_(bias)


def agc_(tensors, factor):
    with torch.no_grad():
        allowed = [factor * max(float(n), 1e-3) for n in torch._foreach_norm(tensors)]
        found = torch._foreach_norm([t.grad for t in tensors])
        scales = [min(1.0, a / (float(n) + 1e-12)) for a, n in zip(allowed, found)]
        torch._foreach_mul_([t.grad for t in tensors], scales)


for x, y in train_loader:
    model.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    agc_(body, factor=0.1)
    optimizer.step()
