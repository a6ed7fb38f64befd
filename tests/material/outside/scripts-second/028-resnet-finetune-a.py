"""Two-phase fine-tuning: head first, then the whole network with a smaller rate."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.b1 = nn.Conv2d(8, 8, 3, padding=1)
        self.b2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.b2(F.relu(self.b1(x))))
        return self.fc(x.mean((2, 3)))


def load_pretrained():
    torch.manual_seed(77)      # stands in for a weights file
    return SmallResNet()


def batches(n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        y = torch.randint(0, 4, (16,), generator=g)
        yield torch.randn(16, 3, 8, 8, generator=g) + y.view(-1, 1, 1, 1) * 0.3, y


def run(model, opt, n, seed):
    for x, y in batches(n, seed):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    return loss.item()


model = load_pretrained()
for p in model.parameters():
    p.requires_grad_(False)
model.fc = nn.Linear(8, 4)
opt = torch.optim.SGD(model.fc.parameters(), lr=0.1, momentum=0.9)
print("phase 1", run(model, opt, 10, 0))

for p in model.parameters():
    p.requires_grad_(True)
opt.param_groups[0]["lr"] = 0.01
stem_before = model.stem.weight.detach().clone()
print("phase 2", run(model, opt, 10, 1))
print("stem moved by", (model.stem.weight - stem_before).abs().max().item())
