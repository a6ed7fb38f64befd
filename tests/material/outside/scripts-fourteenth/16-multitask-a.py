# multi-task regression + classification with homoscedastic uncertainty weighting (Kendall et al.)
import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader


class MTLNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.reg_head = nn.Linear(64, 1)
        self.cls_head = nn.Linear(64, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.reg_head(h).squeeze(1), self.cls_head(h)


class UncertaintyLoss(nn.Module):
    def __init__(self, n_tasks=2):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_vars) * losses + self.log_vars).sum()


def make_loaders(path, bs):
    z = np.load(path)
    ds = TensorDataset(torch.from_numpy(z["x"]), torch.from_numpy(z["reg"]), torch.from_numpy(z["cls"]))
    a, b = torch.utils.data.random_split(ds, [700, 200])
    return DataLoader(a, bs, shuffle=True), DataLoader(b, 200)


def train(model, loss_fn, loader, optimizer):
    model.train()
    for x, r, c in loader:
        pr, pc = model(x)
        total = loss_fn([nn.functional.mse_loss(pr, r), nn.functional.cross_entropy(pc, c)])
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        (x, r, c), = loader
        pr, pc = model(x)
        return (pr - r).pow(2).mean().sqrt().item(), (pc.argmax(1) == c).float().mean().item()


torch.manual_seed(21)
train_loader, val_loader = make_loaders("data/multi.npz", 35)
model, loss_fn = MTLNet(), UncertaintyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.97)
for ep in range(15):
    train(model, loss_fn, train_loader, optimizer)
    scheduler.step()
    rmse, acc = evaluate(model, val_loader)
    if ep % 3 == 2:
        sig = torch.exp(0.5 * loss_fn.log_vars).tolist()
        print(f"ep {ep} rmse {rmse:.3f} acc {acc:.3f} sigma {sig[0]:.3f} {sig[1]:.3f}")
