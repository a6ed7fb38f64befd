import torch
from torch import nn

depth, width = 24, 24


def layer(n_in: int, n_out: int) -> list[nn.Module]:
    linear = nn.Linear(n_in, n_out, bias=False)
    nn.init.xavier_normal_(linear.weight, gain=nn.init.calculate_gain("tanh"))
    return [linear, nn.LayerNorm(n_out), nn.Tanh()]


model = nn.Sequential(
    *layer(16, width),
    *(module for _ in range(depth - 1) for module in layer(width, width)),
    nn.Linear(width, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
