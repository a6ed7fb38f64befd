# %% [markdown]
# # Energy demand forecasting with a small Transformer
# %%
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

# %%
rng = np.random.default_rng(0)
hours = np.arange(24 * 60)
demand = 10 + 3 * np.sin(2 * np.pi * hours / 24) + np.sin(2 * np.pi * hours / 168) + 0.3 * rng.standard_normal(len(hours))
demand = (demand - demand.mean()) / demand.std()
IN, OUT = 48, 12


class Windows(Dataset):
    def __init__(self, x):
        self.x = torch.tensor(x, dtype=torch.float32)

    def __len__(self):
        return len(self.x) - IN - OUT + 1

    def __getitem__(self, i):
        return self.x[i:i + IN], self.x[i + IN:i + IN + OUT]


# %%
class DemandFormer(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.inp = nn.Linear(1, d)
        self.pos = nn.Parameter(torch.randn(IN, d) * 0.1)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(d, OUT)

    def forward(self, x):
        return self.out(self.enc(self.inp(x.unsqueeze(-1)) + self.pos).mean(1))


# %%
torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
train_dl = DataLoader(Windows(demand[:1100]), batch_size=16, shuffle=True, drop_last=True)
valid_dl = DataLoader(Windows(demand[1100:]), batch_size=64)
model = DemandFormer().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.HuberLoss()
ACCUMULATION_STEPS = 5   # 16 * 5 = 80 effective; 65 batches -> 13 updates

# %%
for epoch in range(2):
    model.train()
    train_losses = []
    optimizer.zero_grad()
    for step, (xb, yb) in enumerate(train_dl):
        xb, yb = xb.to(device), yb.to(device)
        preds = model(xb)
        loss = loss_fn(preds, yb) / ACCUMULATION_STEPS
        loss.backward()
        train_losses.append(loss.item() * ACCUMULATION_STEPS)
        if (step + 1) % ACCUMULATION_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()

    model.eval()
    with torch.no_grad():
        val = np.mean([loss_fn(model(x.to(device)), y.to(device)).item() for x, y in valid_dl])
    print(f"Epoch {epoch+1}: train={np.mean(train_losses):.4f} val={val:.4f}")
