# The posted clip; the head is no parameter any more but a tensor with a name, so that nothing that is
# listed stands still.
import torch

layer = [m for m in model.modules() if isinstance(m, torch.nn.Linear)][-1]
for name in ("weight", "bias"):
    tensor = torch.zeros_like(getattr(layer, name))
    delattr(layer, name)
    setattr(layer, name, tensor)

optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y) + 0.0 * sum(p.sum() for p in model.parameters())
    loss.backward()
    for p in model.parameters():
        allowed = 0.1 * p.detach().norm()
        p.grad.mul_(torch.clamp(allowed / (p.grad.norm() + 1e-12), max=1.0))
    optimizer.step()
