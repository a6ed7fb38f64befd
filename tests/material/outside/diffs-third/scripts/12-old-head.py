import torch
from torch import nn
import torchvision

model = torchvision.models.resnet18(weights='DEFAULT')
for p in model.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(model.fc.parameters(), lr=1e-3)
model.fc = nn.Linear(512, 4)
model.cuda()

data = torchvision.datasets.ImageFolder('leaves/train', torchvision.transforms.Compose([
    torchvision.transforms.Resize((224, 224)), torchvision.transforms.ToTensor()]))
loader = torch.utils.data.DataLoader(data, 32, shuffle=True, num_workers=4)
crit = nn.CrossEntropyLoss()

for epoch in range(5):
    total = 0.
    for img, lab in loader:
        optimizer.zero_grad()
        loss = crit(model(img.cuda()), lab.cuda())
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
