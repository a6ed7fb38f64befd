"""Fine-tune a small pretrained backbone on an image folder (root/<class>/*.png).

The backbone is frozen for the first --freeze-epochs epochs, then everything is trained,
with a smaller learning rate for the backbone.
"""
import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split


class FolderDataset(Dataset):
    def __init__(self, root, size):
        self.classes = sorted(d.name for d in Path(root).iterdir() if d.is_dir())
        self.items = [(p, i) for i, c in enumerate(self.classes) for p in sorted((Path(root) / c).glob("*.png"))]
        self.size = size
        if not self.items:
            raise RuntimeError(f"no png files below {root}")

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        img = Image.open(path).convert("RGB").resize((self.size, self.size))
        x = torch.from_numpy(np.asarray(img, dtype=np.float32) / 255.0).permute(2, 0, 1)
        return (x - 0.5) / 0.25, label


class Backbone(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.stages = nn.Sequential(
            nn.GroupNorm(4, width), nn.ReLU(), nn.Conv2d(width, width * 2, 3, stride=2, padding=1),
            nn.GroupNorm(4, width * 2), nn.ReLU(), nn.Conv2d(width * 2, width * 2, 3, padding=1),
            nn.GroupNorm(4, width * 2), nn.ReLU())
        self.dim = width * 2

    def forward(self, x):
        return self.stages(self.stem(x)).mean((2, 3))


class Classifier(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(self.backbone.dim, num_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    good = n = 0
    for x, y in loader:
        good += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += len(y)
    return good / max(n, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True, help="folder with one sub-folder per class")
    ap.add_argument("--weights", default=None, help="state dict of the pretrained backbone")
    ap.add_argument("--size", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--freeze-epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--accumulate", type=int, default=2)
    ap.add_argument("--head-lr", type=float, default=1e-2)
    ap.add_argument("--backbone-lr", type=float, default=1e-3)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--out", default="runs/finetune")
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    ds = FolderDataset(args.data, args.size)
    n_val = max(1, len(ds) // 5)
    train_ds, val_ds = random_split(ds, [len(ds) - n_val, n_val])
    train_dl = DataLoader(train_ds, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, batch_size=64)
    print(f"classes: {ds.classes}, {len(train_ds)} train / {n_val} val")

    model = Classifier(len(ds.classes)).to(device)
    if args.weights:
        model.backbone.load_state_dict(torch.load(args.weights, map_location=device))
    set_trainable(model.backbone, False)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=args.head_lr, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()

    history, best = [], -1.0
    for epoch in range(args.epochs):
        if epoch == args.freeze_epochs:
            print("unfreezing the backbone")
            set_trainable(model.backbone, True)
            optimizer.add_param_group({"params": model.backbone.parameters(), "lr": args.backbone_lr})

        model.train()
        total = 0.0
        n_updates = len(train_dl) // args.accumulate
        batches = iter(train_dl)
        for _ in range(n_updates):
            optimizer.zero_grad()
            for _ in range(args.accumulate):
                x, y = next(batches)
                loss = loss_fn(model(x.to(device)), y.to(device)) / args.accumulate
                loss.backward()
                total += loss.item()
            nn.utils.clip_grad_norm_((p for p in model.parameters() if p.requires_grad), args.clip)
            optimizer.step()

        acc = accuracy(model, val_dl, device)
        history.append({"epoch": epoch, "loss": total / max(n_updates, 1), "val_acc": acc})
        print(history[-1])
        torch.save({"model": model.state_dict(), "classes": ds.classes, "epoch": epoch},
                   os.path.join(args.out, "last.pt"))
        if acc > best:
            best = acc
            torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))
    with open(os.path.join(args.out, "history.json"), "w") as f:
        json.dump(history, f, indent=2)


if __name__ == "__main__":
    main()
