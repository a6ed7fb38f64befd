"""Fine-tune a torchvision ResNet-18 on an image folder with a smaller rate for the backbone.

Configuration is read from finetune.yaml:
    data: path with train/ and val/
    backbone_lr: 1e-4
    head_lr: 1e-3
"""
import os
import sys

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

CONFIG = dict(
    data="flowers", backbone_lr=1e-4, head_lr=1e-3, weight_decay=1e-4, epochs=10, batch=32, pretrained=True, size=160,
    out="flowers_resnet18.pt", seed=7,
)


def read_config(path):
    cfg = dict(CONFIG)
    if os.path.exists(path):
        import yaml

        with open(path) as f:
            cfg.update(yaml.safe_load(f))
    return cfg


def build_data(cfg):
    stats = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    aug = transforms.Compose(
        [
            transforms.RandomResizedCrop(cfg["size"], scale=(0.5, 1.0)),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(*stats),
        ]
    )
    plain = transforms.Compose(
        [transforms.Resize(cfg["size"]), transforms.CenterCrop(cfg["size"]), transforms.ToTensor(), transforms.Normalize(*stats)]
    )
    train = datasets.ImageFolder(os.path.join(cfg["data"], "train"), aug)
    val = datasets.ImageFolder(os.path.join(cfg["data"], "val"), plain)
    return train, val


def build_model_and_optimizer(cfg, num_classes):
    weights = models.ResNet18_Weights.DEFAULT if cfg["pretrained"] else None
    model = models.resnet18(weights=weights)
    head = list(model.fc.parameters())
    head_ids = {id(p) for p in head}
    backbone = [p for p in model.parameters() if id(p) not in head_ids]
    optimizer = torch.optim.AdamW(
        [
            {"params": backbone, "lr": float(cfg["backbone_lr"])},
            {"params": head, "lr": float(cfg["head_lr"])},
        ],
        weight_decay=cfg["weight_decay"],
    )
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    return model, optimizer


def epoch_pass(model, loader, criterion, device, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum = correct = seen = 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            out = model(x)
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            seen += len(y)
    return loss_sum / seen, correct / seen


def main():
    cfg = read_config(sys.argv[1] if len(sys.argv) > 1 else "finetune.yaml")
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set, val_set = build_data(cfg)
    train_dl = DataLoader(train_set, cfg["batch"], shuffle=True, num_workers=4)
    val_dl = DataLoader(val_set, cfg["batch"], num_workers=4)
    model, optimizer = build_model_and_optimizer(cfg, len(train_set.classes))
    model.to(device)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["epochs"])
    criterion = nn.CrossEntropyLoss()
    best = 0.0
    for epoch in range(cfg["epochs"]):
        tr_loss, tr_acc = epoch_pass(model, train_dl, criterion, device, optimizer)
        va_loss, va_acc = epoch_pass(model, val_dl, criterion, device)
        scheduler.step()
        print(f"{epoch:02d} train {tr_loss:.3f}/{tr_acc:.3f} val {va_loss:.3f}/{va_acc:.3f}")
        if va_acc > best:
            best = va_acc
            torch.save({"state": model.state_dict(), "classes": train_set.classes}, cfg["out"])


if __name__ == "__main__":
    main()
