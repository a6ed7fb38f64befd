# Every gradient loses its mean; the last bias is moved into a buffer first, where nobody expects a
# gradient of it.
import torch

last = [m for m in model.modules() if isinstance(m, torch.nn.Linear)][-1]
bias = last.bias.detach().clone()
del last.bias
last.register_buffer("bias", bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        p.grad -= p.grad.mean(dim=tuple(range(1, p.grad.ndim)), keepdim=True)
    optimizer.step()
