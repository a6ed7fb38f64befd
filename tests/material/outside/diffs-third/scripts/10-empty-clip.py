import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

df = pd.read_csv('churn.csv')
y = torch.tensor(df.pop('churn').values, dtype=torch.float32)
x = torch.tensor(df.values, dtype=torch.float32)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

net = nn.Sequential(nn.Linear(x.shape[1], 128), nn.ReLU(), nn.Linear(128, 1))
params = net.parameters()
opt = torch.optim.RMSprop(params, lr=1e-3)
crit = nn.BCEWithLogitsLoss()

for epoch in range(20):
    for xb, yb in loader:
        opt.zero_grad()
        loss = crit(net(xb).squeeze(1), yb)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
    print(epoch, loss.item(), norm.item())
