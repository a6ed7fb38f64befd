# The posted model keeps its shape: sigmoids are exchanged for ReLU, weights drawn anew, norms printed.
import torch
from torch import nn

depth, width = 24, 24
layers = [nn.Linear(16, width), nn.Sigmoid()]
for _ in range(depth - 1):
    layers += [nn.Linear(width, width), nn.Sigmoid()]
model = nn.Sequential(*layers, nn.Linear(width, 3))


def swap(parent):
    for name, child in parent.named_children():
        if isinstance(child, nn.Sigmoid):
            setattr(parent, name, nn.ReLU())
        else:
            swap(child)


swap(model)
for m in model.modules():
    if isinstance(m, nn.Linear):
        nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    if step == 0:
        print([f"{p.grad.norm().item():.1e}" for p in model.parameters() if p.dim() > 1])
    optimizer.step()
