"""Pets: train the new head first, then the last stage of the backbone as well."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, models, transforms

DATA = "./pets"
BATCH = 32
EPOCHS = 4
UNFREEZE_AT = 2
HEAD_LR, BACKBONE_LR = 1e-2, 1e-3
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)

weights = models.ResNet18_Weights.DEFAULT
tf = transforms.Compose([
    transforms.Resize((224, 224)),
    transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
full = datasets.OxfordIIITPet(DATA, split="trainval", download=True, transform=tf)
n_val = len(full) // 5
order = torch.randperm(len(full)).tolist()
train_dl = DataLoader(Subset(full, order[n_val:]), BATCH, shuffle=True)
val_dl = DataLoader(Subset(full, order[:n_val]), 2 * BATCH)

model = models.resnet18(weights=weights)
for p in model.parameters():
    p.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, len(full.classes))
model.to(device)

optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=HEAD_LR, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def unfreeze(module):
    for p in module.parameters():
        p.requires_grad = True
    n = sum(p.numel() for p in module.parameters())
    print(f"unfroze {n} parameters")


def evaluate():
    model.eval()
    hit = 0
    with torch.no_grad():
        for x, y in val_dl:
            hit += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return hit / n_val


for epoch in range(EPOCHS):
    if epoch == UNFREEZE_AT:
        unfreeze(model.layer4)
    model.train()
    total, seen = 0.0, 0
    for x, y in train_dl:
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        seen += len(y)
    print(f"epoch {epoch}: train loss {total / seen:.4f} val acc {evaluate():.3f}")

torch.save(model.state_dict(), "pets_resnet18.pt")
