import math
import torch
import torch.nn as nn

torch.manual_seed(0)
N, MB, ACC, EPOCHS = 1280, 16, 8, 6
X = torch.randn(N, 16)
Y = X[:, :4].argmax(1)
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
total_updates = EPOCHS * (N // MB // ACC)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda u: 0.5 * (1 + math.cos(math.pi * min(1.0, u / total_updates))))

for epoch in range(EPOCHS):
    optimizer.zero_grad()
    for i, idx in enumerate(torch.randperm(N).split(MB)):
        loss = nn.functional.cross_entropy(model(X[idx]), Y[idx]) / ACC
        loss.backward()
        if (i + 1) % ACC == 0:
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
    print(epoch, loss.item() * ACC, scheduler.get_last_lr()[0])
