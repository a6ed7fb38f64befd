# As in ResNets: batch normalisation inside of the branch, the path around it untouched.
import torch
import torch.nn as nn


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.branch = nn.Sequential(
            nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim),
            nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim),
        )

    def forward(self, x):
        return x + self.branch(x)


class Net(nn.Module):
    def __init__(self, d_in=16, d=24, d_out=3, n_blocks=12):
        super().__init__()
        self.stem = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList(ResBlock(d) for _ in range(n_blocks))
        self.head = nn.Linear(d, d_out)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
net.train()
for epoch in range(num_epochs):
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
