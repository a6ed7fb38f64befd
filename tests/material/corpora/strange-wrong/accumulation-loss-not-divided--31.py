import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(28 * 28, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x.flatten(1))))

model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

# stand-in data
data = [(torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))) for _ in range(20)]

ACCUM = 4
optimizer.zero_grad()
for step, (images, labels) in enumerate(data, start=1):
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    if step % ACCUM == 0:
        optimizer.step()
        optimizer.zero_grad()
