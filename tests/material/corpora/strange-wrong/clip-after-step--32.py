import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
loss_fn = nn.CrossEntropyLoss()
train_loader = [(torch.randn(4, 8), torch.randint(0, 2, (4,))) for _ in range(12)]
for inputs, targets in train_loader:
    opt.zero_grad()
    out = net(inputs)
    loss = loss_fn(out, targets)
    loss.backward()
    opt.step()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
