# Kaggle house prices – simple MLP
import pandas as pd
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

df = pd.read_csv('../input/house-prices/train.csv')
y = np.log1p(df.pop('SalePrice').values).astype('float32')
df = df.drop(columns=['Id'])
num = df.select_dtypes(include=[np.number]).fillna(0)
cat = pd.get_dummies(df.select_dtypes(exclude=[np.number]).fillna('NA'))
num = (num - num.mean()) / (num.std() + 1e-6)
X = np.concatenate([num.values, cat.values], axis=1).astype('float32')

idx = np.random.RandomState(42).permutation(len(X))
cut = int(0.85 * len(X))
tr, va = idx[:cut], idx[cut:]
train_loader = DataLoader(TensorDataset(torch.tensor(X[tr]), torch.tensor(y[tr])), batch_size=32, shuffle=True)
Xv, yv = torch.tensor(X[va]), torch.tensor(y[va])

model = nn.Sequential(
    nn.Linear(X.shape[1], 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(256, 64), nn.ReLU(),
    nn.Linear(64, 1),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=5)
loss_fn = nn.MSELoss()

best, wait, PATIENCE = float('inf'), 0, 20
for epoch in range(300):
    model.train()
    optimizer.zero_grad()
    running = 0.0
    for xb, yb in train_loader:
        pred = model(xb).squeeze(1)
        loss = loss_fn(pred, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(Xv).squeeze(1), yv).sqrt().item()
    sched.step(val)
    print(f'epoch {epoch:03d}  train {np.sqrt(running / len(tr)):.4f}  val rmse {val:.4f}')
    if val < best:
        best, wait = val, 0
        torch.save(model.state_dict(), 'mlp.pt')
    else:
        wait += 1
        if wait >= PATIENCE:
            break
