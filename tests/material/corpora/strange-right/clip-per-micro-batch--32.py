import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, random_split

full = TensorDataset(torch.randn(300, 12), torch.randint(0, 3, (300,)))
train_ds, val_ds = random_split(full, [240, 60])
train_loader = DataLoader(train_ds, batch_size=24, shuffle=True, drop_last=True)
val_loader = DataLoader(val_ds, batch_size=24)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)
    def forward(self, x):
        return self.head(self.body(x))

model = Net()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
criterion = nn.CrossEntropyLoss()

def train_one_epoch(model, loader, optimizer, accum=4):
    model.train()
    total = 0.0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = criterion(model(xb), yb)
        (loss / accum).backward()
        total += loss.item() * xb.size(0)
        pass
        if (i + 1) % accum == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    return total / len(loader.dataset)

@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = 0
    for xb, yb in loader:
        correct += (model(xb).argmax(dim=1) == yb).sum().item()
    return correct / len(loader.dataset)

for epoch in range(3):
    tl = train_one_epoch(model, train_loader, optimizer)
    acc = evaluate(model, val_loader)
    print(f"{epoch}: {tl:.4f} {acc:.3f}")
