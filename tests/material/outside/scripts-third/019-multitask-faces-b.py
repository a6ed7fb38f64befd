# Multi-task: age regression + gender + ethnicity from UTKFace-like csv of embeddings
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class FaceEmb(Dataset):
    def __init__(self, csv):
        df = pd.read_csv(csv)
        self.x = torch.tensor(df.filter(like='emb_').values, dtype=torch.float32)
        self.age = torch.tensor(df['age'].values, dtype=torch.float32) / 100
        self.gen = torch.tensor(df['gender'].values)
        self.eth = torch.tensor(df['ethnicity'].values)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.age[i], self.gen[i], self.eth[i]


class MTL(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 128), nn.ReLU())
        self.age, self.gen, self.eth = nn.Linear(128, 1), nn.Linear(128, 2), nn.Linear(128, 5)
        self.log_vars = nn.Parameter(torch.zeros(3))  # Kendall et al.

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.gen(h), self.eth(h)


loader = DataLoader(FaceEmb('utk_embeddings.csv'), batch_size=128, shuffle=True)
model = MTL(512)
optimizer = torch.optim.Adam([
    {'params': [p for n, p in model.named_parameters() if n != 'log_vars']},
    {'params': [model.log_vars], 'lr': 1e-2},
], lr=1e-3)
mse, ce = nn.MSELoss(), nn.CrossEntropyLoss()

for epoch in range(30):
    total_loss = 0
    parts = torch.zeros(3)
    for x, age, gen, eth in loader:
        optimizer.zero_grad()
        pa, pg, pe = model(x)
        losses = torch.stack([mse(pa, age), ce(pg, gen), ce(pe, eth)])
        loss = (torch.exp(-model.log_vars) * losses + model.log_vars).sum()
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        parts += losses.detach()
    parts /= len(loader)
    print(f'{epoch:02d} total {total_loss / len(loader):.4f} age {parts[0]:.4f} gender {parts[1]:.4f} eth {parts[2]:.4f}')
