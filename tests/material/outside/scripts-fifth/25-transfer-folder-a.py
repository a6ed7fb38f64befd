import argparse
import copy
import time
from pathlib import Path

import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def data_transforms(size):
    return {
        "train": transforms.Compose([transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(),
                                     transforms.ColorJitter(0.2, 0.2, 0.2), transforms.ToTensor(),
                                     transforms.Normalize(MEAN, STD)]),
        "val": transforms.Compose([transforms.Resize(int(size * 1.14)), transforms.CenterCrop(size),
                                   transforms.ToTensor(), transforms.Normalize(MEAN, STD)]),
    }


def make_loaders(root, size, batch_size, workers):
    tf = data_transforms(size)
    sets = {k: datasets.ImageFolder(Path(root) / k, tf[k]) for k in ("train", "val")}
    loaders = {k: DataLoader(s, batch_size, shuffle=k == "train", num_workers=workers) for k, s in sets.items()}
    return loaders, sets["train"].classes


def build(n_classes, pretrained, lr, device):
    model = models.resnet18(weights=models.ResNet18_Weights.IMAGENET1K_V1 if pretrained else None)
    model.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(model.fc.in_features, n_classes))
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    return model, optimizer


def train_model(model, loaders, criterion, optimizer, scheduler, device, num_epochs):
    since = time.time()
    best_state, best_acc = copy.deepcopy(model.state_dict()), 0.0
    for epoch in range(num_epochs):
        print(f"Epoch {epoch}/{num_epochs - 1}")
        for phase in ("train", "val"):
            model.train(phase == "train")
            running_loss, running_corrects, n = 0.0, 0, 0
            for inputs, labels in loaders[phase]:
                inputs, labels = inputs.to(device), labels.to(device)
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                if phase == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (outputs.argmax(1) == labels).sum().item()
                n += inputs.size(0)
            if phase == "train":
                scheduler.step()
            loss_, acc = running_loss / n, running_corrects / n
            print(f"  {phase} loss {loss_:.4f} acc {acc:.4f}")
            if phase == "val" and acc > best_acc:
                best_acc, best_state = acc, copy.deepcopy(model.state_dict())
    print(f"done in {time.time() - since:.0f}s, best val acc {best_acc:.4f}")
    model.load_state_dict(best_state)
    return model


def main():
    ap = argparse.ArgumentParser(description="fine-tune a ResNet-18 on <root>/{train,val}/<class>/*")
    ap.add_argument("root")
    ap.add_argument("--pretrained", action="store_true")
    ap.add_argument("--size", type=int, default=224)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--out", default="finetuned.pt")
    args = ap.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    loaders, classes = make_loaders(args.root, args.size, args.batch_size, args.workers)
    model, optimizer = build(len(classes), args.pretrained, args.lr, device)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    model = train_model(model, loaders, nn.CrossEntropyLoss(), optimizer, scheduler, device, args.epochs)
    torch.save({"model": model.state_dict(), "classes": classes}, args.out)


if __name__ == "__main__":
    main()
