# A GRUCell that is stepped by hand; the norm is that of all gradients in one vector.
import torch
from torch import nn

torch.manual_seed(1)


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.cell = nn.GRUCell(4, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        state = None
        for part in x.chunk(4, dim=1):
            state = self.cell(part, state)
        return self.head(state)


net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for x, y in train_loader:
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    norm = torch.cat([p.grad.flatten() for p in net.parameters()]).norm()
    if norm > 5.0:
        for p in net.parameters():
            p.grad.mul_(5.0 / norm)
    opt.step()
