# The model is written out with its initialisation in the constructor, and trained by Adam.
import torch
import torch.nn as nn


class MLP(nn.Module):
    def __init__(self, n_in=16, n_hidden=24, n_out=3, depth=24):
        super().__init__()
        layers = []
        for i in range(depth):
            layers.append(nn.Linear(n_in if i == 0 else n_hidden, n_hidden))
            layers.append(nn.ReLU())
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(n_hidden, n_out)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_uniform_(m.weight, a=0, mode="fan_in", nonlinearity="relu")
            nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.head(self.body(x))


model = MLP()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
