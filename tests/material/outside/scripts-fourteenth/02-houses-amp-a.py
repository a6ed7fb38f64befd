# tabular price regression, exported from a notebook
import csv
import torch
from torch import nn

torch.manual_seed(42)
device = "cuda" if torch.cuda.is_available() else "cpu"

# In[2]: load
with open("data/houses.csv") as f:
    rows = [[float(v) for v in r] for i, r in enumerate(csv.reader(f)) if i > 0]
data = torch.tensor(rows)
data = data[torch.randperm(len(data))]
X, y = data[:, :-1], data[:, -1:]
X = (X - X[:600].mean(0)) / X[:600].std(0)
y_mean, y_std = y[:600].mean(), y[:600].std()
y = (y - y_mean) / y_std
X_train, y_train = X[:600].to(device), y[:600].to(device)
X_test, y_test = X[600:].to(device), y[600:].to(device)

for name, col in zip(["area", "rooms", "age", "dist", "floor"], X_train.T):
    corr = torch.corrcoef(torch.stack([col, y_train[:, 0]]))[0, 1].item()
    print(f"{name:6s} corr with price {corr:+.2f}")
print("baseline MAE", round((y_test.abs() * y_std.to(device)).mean().item(), 2))

# In[3]: model
net = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** 10)
loss_fn = nn.MSELoss()
amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16
BS = 50
MAX_NORM = 1.0

# In[4]: train
hist = []
for epoch in range(25):
    net.train()
    perm = torch.randperm(600)
    tot = 0.0
    for k in range(0, 600, BS):
        idx = perm[k:k + BS]
        opt.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=amp_dtype):
            out = net(X_train[idx])
            loss = loss_fn(out.float(), y_train[idx])
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
        scaler.step(opt)
        scaler.update()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        mae = ((net(X_test) - y_test).abs() * y_std.to(device)).mean().item()
    hist.append(mae)
    if epoch % 5 == 4:
        print(epoch, "train mse", round(tot / 600, 4), "test MAE (k$)", round(mae, 2))

# In[5]
print("final MAE", hist[-1], "scale", scaler.get_scale())
