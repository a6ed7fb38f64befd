"""Transfer learning on an ImageFolder: first the head, then the last stage as well."""
import argparse
import time

import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

NORM = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


def get_loaders(root, bs, workers):
    train_tf = transforms.Compose([
        transforms.Resize((64, 64)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        NORM,
    ])
    test_tf = transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor(), NORM])
    train_ds = datasets.ImageFolder(f"{root}/train", transform=train_tf)
    valid_ds = datasets.ImageFolder(f"{root}/valid", transform=test_tf)
    return (
        DataLoader(train_ds, batch_size=bs, shuffle=True, num_workers=workers),
        DataLoader(valid_ds, batch_size=bs, num_workers=workers),
        train_ds.classes,
    )


def build_model(num_classes):
    model = models.resnet18(weights=models.ResNet18_Weights.IMAGENET1K_V1)
    for p in model.parameters():
        p.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    return model


def train_mode(model):
    """train(), but batch norm layers keep their ImageNet statistics"""
    model.train()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()


def run_epoch(model, loader, criterion, device, optimizer=None):
    total_loss, correct, n = 0.0, 0, 0
    if optimizer is not None:
        train_mode(model)
    else:
        model.eval()
    with torch.set_grad_enabled(optimizer is not None):
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total_loss += loss.item() * images.size(0)
            correct += (logits.argmax(1) == labels).sum().item()
            n += images.size(0)
    return total_loss / n, correct / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", default="data/birds")
    parser.add_argument("--head-epochs", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--head-lr", type=float, default=1e-3)
    parser.add_argument("--backbone-lr", type=float, default=1e-4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--checkpoint", default="birds.pt")
    args = parser.parse_args()

    torch.manual_seed(2024)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    train_loader, valid_loader, classes = get_loaders(args.data_dir, args.batch_size, args.workers)
    model = build_model(len(classes)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam([p for p in model.parameters() if p.requires_grad], lr=args.head_lr)

    start = time.time()
    for epoch in range(args.epochs):
        if epoch == args.head_epochs:
            print("unfreezing layer4")
            for p in model.layer4.parameters():
                p.requires_grad = True
            optimizer.add_param_group({"params": list(model.layer4.parameters()), "lr": args.backbone_lr})

        tl, ta = run_epoch(model, train_loader, criterion, device, optimizer)
        vl, va = run_epoch(model, valid_loader, criterion, device)
        trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
        print(f"{epoch + 1}/{args.epochs} train {tl:.4f}/{ta:.3f} valid {vl:.4f}/{va:.3f} "
              f"trainable {trainable} ({time.time() - start:.0f}s)")

    torch.save({"classes": classes, "state_dict": model.state_dict()}, args.checkpoint)


if __name__ == "__main__":
    main()
