import os
import random
import argparse
from glob import glob

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from tqdm import tqdm


class FolderDataset(Dataset):
    """root/<class name>/<anything>.jpg"""

    def __init__(self, root, size=64, train=True):
        self.classes = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
        self.items = []
        for i, c in enumerate(self.classes):
            for ext in ("*.jpg", "*.jpeg", "*.png"):
                self.items += [(p, i) for p in sorted(glob(os.path.join(root, c, ext)))]
        self.size = size
        self.train = train

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        im = Image.open(path).convert("RGB").resize((self.size, self.size))
        if self.train and random.random() < 0.5:
            im = im.transpose(Image.FLIP_LEFT_RIGHT)
        x = torch.from_numpy(np.asarray(im, dtype=np.float32) / 255.0).permute(2, 0, 1)
        return (x - 0.5) / 0.5, label


def conv_block(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class SmallNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            conv_block(3, 16, 2),
            conv_block(16, 32, 2),
            conv_block(32, 64, 2),
            conv_block(64, 64, 1),
        )
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.features(x)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_args():
    p = argparse.ArgumentParser("fine-tune the pretrained small net on flowers")
    p.add_argument("data", help="folder with train/ and val/")
    p.add_argument("--pretrained", required=True, help="state dict of the 100-class net")
    p.add_argument("--epochs", default=8, type=int)
    p.add_argument("-b", "--batch-size", default=32, type=int)
    p.add_argument("--lr", default=0.01, type=float)
    p.add_argument("--wd", default=5e-4, type=float)
    p.add_argument("-j", "--workers", default=0, type=int)
    p.add_argument("--save", default="flowers_last.pth")
    return p.parse_args()


def accuracy(model, loader, device):
    model.eval()
    hit = n = 0
    with torch.no_grad():
        for x, y in loader:
            pred = model(x.to(device)).argmax(1).cpu()
            hit += (pred == y).sum().item()
            n += len(y)
    return hit / max(n, 1)


def main():
    args = get_args()
    random.seed(42)
    np.random.seed(42)
    torch.manual_seed(42)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    train_set = FolderDataset(os.path.join(args.data, "train"), train=True)
    val_set = FolderDataset(os.path.join(args.data, "val"), train=False)
    assert train_set.classes == val_set.classes
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, num_workers=args.workers)
    val_loader = DataLoader(val_set, args.batch_size, num_workers=args.workers)

    # the pretraining task had 100 classes, so load with that head first
    model = SmallNet(num_classes=100)
    state = torch.load(args.pretrained, map_location="cpu")
    model.load_state_dict(state)
    model.fc = nn.Linear(model.fc.in_features, len(train_set.classes))
    model = model.to(device)

    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    for epoch in range(args.epochs):
        model.train()
        bar = tqdm(train_loader, desc=f"epoch {epoch}", leave=False)
        for x, y in bar:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.3f}")
        scheduler.step()
        print(f"[{epoch}] val acc {accuracy(model, val_loader, device):.3f}")

    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
