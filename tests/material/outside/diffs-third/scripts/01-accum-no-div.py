import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(960, 10)
Y = (X[:, :1] * X[:, 1:2]).tanh()
ACCUM, BS = 4, 16

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_fn = nn.MSELoss()

for epoch in range(5):
    perm = torch.randperm(len(X))
    opt.zero_grad()
    for i, idx in enumerate(perm.split(BS)):
        loss = loss_fn(model(X[idx]), Y[idx])
        loss.backward()
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    print(epoch, loss.item())
