# coding: utf-8
# In[1]:
import os

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CSV = os.environ.get("STOCK_CSV", "prices.csv")     # columns: date, open, high, low, close, volume
WINDOW = 30
EPOCHS = int(os.environ.get("EPOCHS", 50))
LR = 1e-3
BATCH = 64
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

# In[2]:
df = pd.read_csv(CSV, parse_dates=["date"]).sort_values("date").reset_index(drop=True)
df["ret"] = np.log(df["close"]).diff()
df["range"] = (df["high"] - df["low"]) / df["close"]
df["gap"] = np.log(df["open"] / df["close"].shift(1))
df["vol"] = np.log1p(df["volume"]).diff()
df = df.dropna().reset_index(drop=True)
features = ["ret", "range", "gap", "vol"]
split = int(len(df) * 0.8)
mu, sd = df.loc[:split - 1, features].mean(), df.loc[:split - 1, features].std() + 1e-8
Z = ((df[features] - mu) / sd).to_numpy("float32")
target = (df["range"].to_numpy("float32") - mu["range"]) / sd["range"]


# In[3]:
def windows(lo, hi):
    X = np.stack([Z[i - WINDOW:i] for i in range(lo + WINDOW, hi)])
    y = np.stack([target[i] for i in range(lo + WINDOW, hi)]).astype("float32")
    return TensorDataset(torch.from_numpy(X), torch.from_numpy(y))


train_loader = DataLoader(windows(0, split), BATCH, shuffle=True)
test_loader = DataLoader(windows(split - WINDOW, len(df)), BATCH)
print(len(train_loader.dataset), "train windows", len(test_loader.dataset), "test windows")


# In[4]:
class VolatilityLSTM(nn.Module):
    def __init__(self, n_features, hidden=64, layers=2, dropout=0.2):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, layers, batch_first=True, dropout=dropout)
        self.head = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).squeeze(-1)


model = VolatilityLSTM(len(features)).to(device)
criterion = nn.HuberLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=LR)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)

# In[5]:
train_hist, test_hist = [], []
best, patience, bad = float("inf"), 10, 0
for epoch in range(EPOCHS):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        xb, yb = xb.to(device), yb.to(device)
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    scheduler.step()
    train_hist.append(epoch_loss / len(train_loader.dataset))

    model.eval()
    with torch.no_grad():
        test_loss = sum(criterion(model(xb.to(device)), yb.to(device)).item() * len(xb) for xb, yb in test_loader)
    test_hist.append(test_loss / len(test_loader.dataset))
    print(f"epoch {epoch + 1:3d}  train {train_hist[-1]:.5f}  test {test_hist[-1]:.5f}")
    if test_hist[-1] < best:
        best, bad = test_hist[-1], 0
        torch.save(model.state_dict(), "volatility_lstm.pt")
    else:
        bad += 1
        if bad >= patience:
            print("early stop")
            break

# In[6]:
model.load_state_dict(torch.load("volatility_lstm.pt"))
model.eval()
with torch.no_grad():
    pred = torch.cat([model(xb.to(device)).cpu() for xb, _ in test_loader]).numpy()
pd.DataFrame({"date": df["date"].iloc[-len(pred):].to_numpy(), "pred": pred * sd["range"] + mu["range"]}).to_csv(
    "predictions.csv", index=False)
