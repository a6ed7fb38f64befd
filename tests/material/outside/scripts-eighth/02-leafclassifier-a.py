import argparse
import copy
import os
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def make_loaders(root, batch_size, workers):
    tf = {
        "train": transforms.Compose([
            transforms.RandomResizedCrop(224, scale=(0.6, 1.0)),
            transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.2, 0.2, 0.2),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]),
        "val": transforms.Compose([
            transforms.Resize(256),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]),
    }
    sets = {k: datasets.ImageFolder(os.path.join(root, k), tf[k]) for k in tf}
    loaders = {
        k: DataLoader(sets[k], batch_size=batch_size, shuffle=(k == "train"),
                      num_workers=workers, pin_memory=True)
        for k in sets
    }
    return loaders, sets["train"].classes


def build_model(num_classes):
    net = models.resnet50(weights=models.ResNet50_Weights.IMAGENET1K_V2)
    net.fc = nn.Linear(net.fc.in_features, num_classes)
    return net


def run_epoch(net, loader, criterion, device, optimizer=None):
    training = optimizer is not None
    net.train(training)
    total, correct, loss_sum = 0, 0, 0.0
    with torch.set_grad_enabled(training):
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            logits = net(images)
            loss = criterion(logits, labels)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * labels.size(0)
            correct += (logits.argmax(1) == labels).sum().item()
            total += labels.size(0)
    return loss_sum / total, correct / total


def main():
    ap = argparse.ArgumentParser(description="Fine-tune ResNet-50 on the leaf disease photos")
    ap.add_argument("data", help="folder with train/ and val/")
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--backbone-lr", type=float, default=1e-4)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--save", default="leaf_resnet50.pth")
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loaders, classes = make_loaders(args.data, args.batch_size, args.workers)
    print(f"{len(classes)} classes: {', '.join(classes)}")

    net = build_model(len(classes)).to(device)
    backbone = [p for n, p in net.named_parameters() if not n.startswith("fc.")]
    optimizer = torch.optim.AdamW([
        {"params": backbone, "lr": args.backbone_lr},
        {"params": net.fc.parameters(), "lr": args.lr},
    ], weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

    best_acc, best_state = 0.0, None
    for epoch in range(args.epochs):
        t = time.time()
        tr_loss, tr_acc = run_epoch(net, loaders["train"], criterion, device, optimizer)
        va_loss, va_acc = run_epoch(net, loaders["val"], criterion, device)
        scheduler.step()
        print(f"[{epoch + 1}/{args.epochs}] train {tr_loss:.4f}/{tr_acc:.3f}  "
              f"val {va_loss:.4f}/{va_acc:.3f}  {time.time() - t:.1f}s")
        if va_acc > best_acc:
            best_acc, best_state = va_acc, copy.deepcopy(net.state_dict())

    torch.save({"state_dict": best_state, "classes": classes}, args.save)
    print(f"best val accuracy {best_acc:.4f}")


if __name__ == "__main__":
    main()
