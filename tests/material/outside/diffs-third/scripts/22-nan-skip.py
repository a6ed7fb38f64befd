import torch
import torch.nn as nn

torch.manual_seed(0)
W = torch.randn(5, 1)
X = torch.randn(256, 5)
Y = X @ W + 0.1 * torch.randn(256, 1)
Y[13] = float('inf')   # broken sensor reading

m = nn.Linear(5, 1)
o = torch.optim.SGD(m.parameters(), lr=0.05)
for epoch in range(5):
    for xb, yb in zip(X.split(32), Y.split(32)):
        loss = nn.functional.mse_loss(m(xb), yb)
        loss.backward()
        o.step()
        o.zero_grad()
    print(epoch, m.weight.data.norm().item())
