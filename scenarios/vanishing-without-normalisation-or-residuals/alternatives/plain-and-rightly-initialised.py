# Still no skip: He on the way into each activation, Xavier behind it, and a norm in each block.
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.kaiming_normal_(self.a.weight, nonlinearity="relu")
        nn.init.xavier_normal_(self.b.weight)
        nn.init.zeros_(self.a.bias)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return self.b(torch.relu(self.a(self.norm(x))))


model = nn.Sequential(nn.Linear(16, 24), *(Block(24) for _ in range(12)), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
