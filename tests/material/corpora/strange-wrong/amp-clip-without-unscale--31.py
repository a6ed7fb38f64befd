import torch
import torch.nn as nn
from torch.cuda.amp import autocast, GradScaler
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
criterion = nn.CrossEntropyLoss()
scaler = GradScaler()

inputs = torch.randn(640, 512)
targets = torch.randint(0, 10, (640,))
train_loader = DataLoader(TensorDataset(inputs, targets), batch_size=64, shuffle=True, num_workers=4, pin_memory=True)

for epoch in range(2):
    for inputs, targets in train_loader:
        inputs, targets = inputs.cuda(non_blocking=True), targets.cuda(non_blocking=True)
        optimizer.zero_grad()
        with autocast():
            loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        print(norm.item())
        scaler.step(optimizer)
        scaler.update()
