#!/usr/bin/env python
# coding: utf-8

# # Day-ahead load forecasting with a GRU
# Hourly transformer data, `ETTh1.csv` layout: `date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT`

# In[1]:


import os

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2021)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


# In[2]:


DATA = os.environ.get("ETT_CSV", "ETTh1.csv")
SEQ_LEN, PRED_LEN = 48, 24
MICRO_BATCH, ACCUM = 16, 4
EPOCHS = 4

df = pd.read_csv(DATA, parse_dates=["date"])
df.head()


# In[3]:


# calendar features as sin / cos pairs
hour = df["date"].dt.hour.to_numpy()
dow = df["date"].dt.dayofweek.to_numpy()
cal = np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24),
                np.sin(2 * np.pi * dow / 7), np.cos(2 * np.pi * dow / 7)], axis=1)

values = df.drop(columns="date").to_numpy(dtype=np.float32)
n_train = int(len(values) * 0.7)
n_val = int(len(values) * 0.1)
mean, std = values[:n_train].mean(0), values[:n_train].std(0) + 1e-6
values = (values - mean) / std
feats = np.concatenate([values, cal.astype(np.float32)], axis=1)
target = values[:, -1]     # OT, oil temperature
print(feats.shape, target.shape)


# In[4]:


class Windows(Dataset):
    def __init__(self, feats, target, lo, hi):
        self.x = torch.from_numpy(feats[lo:hi])
        self.y = torch.from_numpy(target[lo:hi])

    def __len__(self):
        return len(self.x) - SEQ_LEN - PRED_LEN + 1

    def __getitem__(self, i):
        return self.x[i:i + SEQ_LEN], self.y[i + SEQ_LEN:i + SEQ_LEN + PRED_LEN]


train_set = Windows(feats, target, 0, n_train)
val_set = Windows(feats, target, n_train - SEQ_LEN, n_train + n_val)
train_loader = DataLoader(train_set, batch_size=MICRO_BATCH, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=128)
len(train_set), len(val_set)


# In[5]:


class GRUForecaster(nn.Module):
    def __init__(self, n_in, hidden=48, horizon=PRED_LEN):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden, num_layers=1, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, horizon)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.head(self.norm(out[:, -1]))


model = GRUForecaster(feats.shape[1]).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_fn = nn.MSELoss()
sum(p.numel() for p in model.parameters())


# In[6]:


# The windows overlap heavily, so a big effective batch helps: 16 x 4 = 64
usable = (len(train_loader) // ACCUM) * ACCUM
history = []
for epoch in range(EPOCHS):
    model.train()
    train_loss = 0.0
    for i, (x, y) in enumerate(train_loader):
        if i >= usable:
            break
        x, y = x.to(device), y.to(device)
        opt.zero_grad()
        loss = loss_fn(model(x), y) / ACCUM
        loss.backward()
        train_loss += loss.item() * ACCUM
        if (i + 1) % ACCUM == 0:
            opt.step()

    model.eval()
    se, n = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            pred = model(x.to(device)).cpu()
            se += ((pred - y) ** 2).sum().item()
            n += y.numel()
    history.append((train_loss / usable, se / n))
    print(f"epoch {epoch}: train mse {history[-1][0]:.4f}  val mse {history[-1][1]:.4f}")


# In[7]:


torch.save(model.state_dict(), os.environ.get("OUT", "gru_forecaster.pt"))
pd.DataFrame(history, columns=["train", "val"])
