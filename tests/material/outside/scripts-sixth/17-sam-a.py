# %% [markdown]
# # Sharpness-aware minimisation on FashionMNIST
# Two passes per batch: climb to w + rho * g / |g|, take the gradient there, step from w.

# %%
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

RHO, LR, EPOCHS, BATCH = 0.05, 0.05, 8, 128
DATA = os.environ.get("DATA", "./data")
device = "cuda" if torch.cuda.is_available() else "cpu"
_ = torch.manual_seed(0)

# %%
tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.286,), (0.353,))])
full = datasets.FashionMNIST(DATA, train=True, download=True, transform=tf)
test = datasets.FashionMNIST(DATA, train=False, download=True, transform=tf)
train_dl = DataLoader(Subset(full, range(50000)), BATCH, shuffle=True, drop_last=True)
val_dl = DataLoader(Subset(full, range(50000, 60000)), 512)
test_dl = DataLoader(test, 512)


# %%
class SAM:
    """Wraps a base optimizer. `climb` perturbs the weights, `descend` undoes it and steps."""

    def __init__(self, params, base_cls, rho, **kwargs):
        self.base = base_cls(params, **kwargs)
        self.rho = rho
        self.eps = {}

    @property
    def params(self):
        return [p for g in self.base.param_groups for p in g["params"]]

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def climb(self):
        active = [p for p in self.params if p.grad is not None]
        norm = torch.stack([p.grad.norm() for p in active]).norm()
        for p in active:
            e = p.grad * (self.rho / (norm + 1e-12))
            p.add_(e)
            self.eps[p] = e

    @torch.no_grad()
    def descend(self):
        for p, e in self.eps.items():
            p.sub_(e)
        self.eps.clear()
        self.base.step()


# %%
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
        self.n1, self.n2 = nn.GroupNorm(8, 32), nn.GroupNorm(8, 64)
        self.f1, self.f2 = nn.Linear(64 * 7 * 7, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.n1(self.c1(x))), 2)
        x = F.max_pool2d(F.relu(self.n2(self.c2(x))), 2)
        return self.f2(F.relu(self.f1(x.flatten(1))))


model = Net().to(device)
opt = SAM(model.parameters(), torch.optim.SGD, RHO, lr=LR, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt.base, EPOCHS * len(train_dl))


# %%
@torch.no_grad()
def accuracy(loader):
    model.eval()
    ok = sum((model(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in loader)
    model.train()
    return ok / len(loader.dataset)


# %%
best = 0.0
for epoch in range(EPOCHS):
    model.train()
    run = 0.0
    for x, y in train_dl:
        x, y = x.to(device), y.to(device)
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.climb()

        F.cross_entropy(model(x), y).backward()
        opt.descend()
        sched.step()
        run += loss.item()
    acc = accuracy(val_dl)
    print(f"epoch {epoch} loss {run / len(train_dl):.4f} val {acc:.4f}")
    if acc > best:
        best = acc
        torch.save(model.state_dict(), "fashion_sam.pt")

# %%
model.load_state_dict(torch.load("fashion_sam.pt", map_location=device))
print("test", accuracy(test_dl))
