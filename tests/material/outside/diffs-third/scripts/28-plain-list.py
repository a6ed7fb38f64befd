import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.inp = nn.Linear(3, 32)
        self.hidden = [nn.Linear(32, 32) for _ in range(depth)]
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for l in self.hidden:
            x = torch.relu(l(x))
        return self.out(x)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.rand(512, 3)
Y = (X ** 2).sum(1, keepdim=True)
for ep in range(50):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(X), Y)
    loss.backward()
    opt.step()
print(loss.item(), sum(p.numel() for p in net.parameters()))
