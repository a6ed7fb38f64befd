import math
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

class RandomDataset(Dataset):
    def __init__(self, n=128):
        self.x = torch.randn(n, 16)
        self.y = torch.randn(n, 1)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

def build():
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, opt

train_loader = DataLoader(RandomDataset(), batch_size=8)
model, optimizer = build()
accumulation_steps = 4
epochs = 2
updates_per_epoch = math.ceil(len(train_loader) / accumulation_steps)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * updates_per_epoch)
criterion = nn.MSELoss()

for epoch in range(epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
