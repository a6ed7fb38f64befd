# %% [markdown]
# # NYC taxi fares - tabular MLP
# Exported from the notebook `03_mlp.ipynb`. Features were prepared in `02_features.ipynb`.

# %%
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"

# %%
df = pd.read_csv("data/taxi_features.csv")
df = df[(df.fare_amount > 2.5) & (df.fare_amount < 200)].sample(frac=1.0, random_state=7).reset_index(drop=True)
df.describe()

# %%
cont = ["pickup_lat", "pickup_lon", "dropoff_lat", "dropoff_lon", "haversine_km", "passenger_count"]
cats = ["hour", "weekday", "month"]
card = [24, 7, 12]

n_val = int(0.1 * len(df))
valid, train = df.iloc[:n_val], df.iloc[n_val:]
mu, sd = train[cont].mean(), train[cont].std()
y_mu, y_sd = train.fare_amount.mean(), train.fare_amount.std()


def to_ds(d):
    xc = torch.tensor(((d[cont] - mu) / sd).values, dtype=torch.float32)
    xk = torch.tensor(d[cats].values, dtype=torch.long)
    y = torch.tensor(((d.fare_amount - y_mu) / y_sd).values, dtype=torch.float32)
    return TensorDataset(xc, xk, y)


train_dl = DataLoader(to_ds(train), batch_size=512, shuffle=True, drop_last=True)
valid_dl = DataLoader(to_ds(valid), batch_size=2048)

# %%
class FareNet(nn.Module):
    def __init__(self, n_cont, cards, hidden=(256, 128)):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(c, min(16, (c + 1) // 2)) for c in cards)
        d = n_cont + sum(e.embedding_dim for e in self.embs)
        layers = []
        for h in hidden:
            layers += [nn.Linear(d, h), nn.ReLU(), nn.BatchNorm1d(h), nn.Dropout(0.1)]
            d = h
        self.mlp = nn.Sequential(*layers, nn.Linear(d, 1))

    def forward(self, xc, xk):
        e = [emb(xk[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat([xc, *e], dim=1))


model = FareNet(len(cont), card).to(device)
print(model)

# %%
EPOCHS = 12
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, epochs=EPOCHS, steps_per_epoch=len(train_dl))
loss_fn = nn.MSELoss()

# %%
history = []
for epoch in range(EPOCHS):
    model.train()
    running, seen = 0.0, 0
    for xc, xk, y in train_dl:
        xc, xk, y = xc.to(device), xk.to(device), y.to(device)
        pred = model(xc, xk).squeeze(1)
        loss = loss_fn(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        running += loss.item() * len(y)
        seen += len(y)

    model.eval()
    sq, n = 0.0, 0
    with torch.no_grad():
        for xc, xk, y in valid_dl:
            pred = model(xc.to(device), xk.to(device)).squeeze(1).cpu()
            sq += (((pred - y) * y_sd) ** 2).sum().item()
            n += len(y)
    rmse = (sq / n) ** 0.5
    history.append((running / seen, rmse))
    print(f"epoch {epoch:02d}  train mse {running / seen:.4f}  valid rmse ${rmse:.2f}")

# %%
hist = pd.DataFrame(history, columns=["train_mse", "valid_rmse"])
hist.to_csv("runs/farenet_history.csv", index=False)
torch.save({"state": model.state_dict(), "mu": mu.to_dict(), "sd": sd.to_dict(),
            "y": (float(y_mu), float(y_sd))}, "runs/farenet.pt")
hist.plot(subplots=True)
