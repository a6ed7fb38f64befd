import argparse
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.models import ResNet18_Weights, resnet18

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def get_loaders(root, batch_size, workers):
    train_tf = transforms.Compose([
        transforms.RandomResizedCrop(224, scale=(0.5, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    test_tf = transforms.Compose([
        transforms.Resize(256),
        transforms.CenterCrop(224),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    train = datasets.OxfordIIITPet(root, split="trainval", transform=train_tf, download=True)
    test = datasets.OxfordIIITPet(root, split="test", transform=test_tf, download=True)
    return (
        DataLoader(train, batch_size, shuffle=True, num_workers=workers, pin_memory=True),
        DataLoader(test, batch_size, num_workers=workers, pin_memory=True),
        len(train.classes),
    )


def build(num_classes, lr, device):
    model = resnet18(weights=ResNet18_Weights.IMAGENET1K_V1)
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith(("layer3", "layer4", "fc"))
    model.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(model.fc.in_features, num_classes))
    model.to(device)
    groups = [
        {"params": [p for n, p in model.named_parameters() if p.requires_grad and not n.startswith("fc")],
         "lr": lr * 0.1},
        {"params": model.fc.parameters(), "lr": lr},
    ]
    optimizer = torch.optim.SGD(groups, lr=lr, momentum=0.9, weight_decay=1e-4)
    return model, optimizer


def freeze_bn(model):
    for name, m in model.named_modules():
        if isinstance(m, nn.BatchNorm2d) and not name.startswith(("layer3", "layer4")):
            m.eval()


def train_epoch(model, loader, optimizer, criterion, device):
    model.train()
    freeze_bn(model)
    total = 0.0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
    return total / len(loader.dataset)


@torch.inference_mode()
def accuracy(model, loader, device):
    model.eval()
    good = 0
    for images, labels in loader:
        good += (model(images.to(device)).argmax(1).cpu() == labels).sum().item()
    return good / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data/pets")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_loader, test_loader, num_classes = get_loaders(args.root, args.batch_size, args.workers)
    model, optimizer = build(num_classes, args.lr, device)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.2)
    criterion = nn.CrossEntropyLoss()

    best = 0.0
    for epoch in range(args.epochs):
        start = time.time()
        loss = train_epoch(model, train_loader, optimizer, criterion, device)
        scheduler.step()
        acc = accuracy(model, test_loader, device)
        print(f"{epoch + 1}/{args.epochs} loss {loss:.4f} acc {acc:.4f} ({time.time() - start:.0f}s)")
        if acc > best:
            best = acc
            torch.save(model.state_dict(), "pets_best.pt")


if __name__ == "__main__":
    main()
