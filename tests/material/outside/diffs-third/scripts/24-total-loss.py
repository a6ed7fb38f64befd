import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sine(Dataset):
    def __len__(self): return 500
    def __getitem__(self, i):
        x = torch.rand(1) * 6.28
        return x, x.sin()


net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
total = 0
for epoch in range(3):
    for x, y in DataLoader(Sine(), 25):
        optim.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        total += loss
        total.backward(retain_graph=True)
        optim.step()
    print(epoch, float(total))
