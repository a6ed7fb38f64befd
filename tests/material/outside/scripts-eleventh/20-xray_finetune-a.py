"""Fine-tune an ImageNet ResNet for chest X-ray findings. labels.csv: image,split,<finding 1>,<finding 2>,..."""
import argparse
import os

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms


class XrayDataset(Dataset):
    def __init__(self, root, df, findings, tfm):
        self.root, self.tfm = root, tfm
        self.files = df["image"].tolist()
        self.y = torch.tensor(df[findings].to_numpy(dtype=np.float32))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = Image.open(os.path.join(self.root, "images", self.files[i])).convert("RGB")
        return self.tfm(img), self.y[i]


def transforms_for(train, size):
    norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    if train:
        return transforms.Compose([
            transforms.RandomResizedCrop(size, scale=(0.8, 1.0)), transforms.RandomRotation(7),
            transforms.ToTensor(), norm])
    return transforms.Compose([transforms.Resize((size, size)), transforms.ToTensor(), norm])


class XrayNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.backbone = models.resnet50(weights=models.ResNet50_Weights.DEFAULT)
        feat = self.backbone.fc.in_features
        self.backbone.fc = nn.Identity()
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(feat, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, n_out))
        self.backbone_frozen = False

    def freeze_backbone(self):
        self.backbone.requires_grad_(False)
        self.backbone_frozen = True

    def unfreeze_backbone(self):
        self.backbone.requires_grad_(True)
        self.backbone_frozen = False

    def train(self, mode=True):
        super().train(mode)
        if self.backbone_frozen:
            self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def auc(score, y):
    order = np.argsort(score, kind="stable")
    ranks = np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    pos = y == 1
    n1, n0 = pos.sum(), (~pos).sum()
    return np.nan if n1 == 0 or n0 == 0 else (ranks[pos].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    s, t = [], []
    for x, y in loader:
        s.append(model(x.to(device)).float().cpu())
        t.append(y)
    s, t = torch.cat(s).numpy(), torch.cat(t).numpy()
    return float(np.nanmean([auc(s[:, k], t[:, k]) for k in range(t.shape[1])]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--unfreeze-at", type=int, default=3)
    ap.add_argument("--head-lr", type=float, default=1e-3)
    ap.add_argument("--backbone-lr", type=float, default=5e-5)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--size", type=int, default=320)
    ap.add_argument("--workers", type=int, default=8)
    ap.add_argument("--out", default="xray.pt")
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    df = pd.read_csv(os.path.join(args.root, "labels.csv"))
    findings = [c for c in df.columns if c not in ("image", "split")]
    tr, va = df[df.split == "train"], df[df.split == "val"]
    train_dl = DataLoader(XrayDataset(args.root, tr, findings, transforms_for(True, args.size)), args.batch, shuffle=True,
                          drop_last=True, num_workers=args.workers, pin_memory=True)
    val_dl = DataLoader(XrayDataset(args.root, va, findings, transforms_for(False, args.size)), args.batch,
                        num_workers=args.workers)

    prev = tr[findings].mean().to_numpy(dtype=np.float32).clip(1e-3, 1 - 1e-3)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(((1 - prev) / prev).clip(max=20))).to(device)

    model = XrayNet(len(findings)).to(device)
    model.freeze_backbone()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.head_lr, weight_decay=1e-2)

    best = 0.0
    for epoch in range(args.epochs):
        if epoch == args.unfreeze_at:
            model.unfreeze_backbone()
            optimizer.add_param_group({"params": list(model.backbone.parameters()), "lr": args.backbone_lr})
            print(f"epoch {epoch}: backbone unfrozen")

        model.train()
        total = 0.0
        for x, y in train_dl:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
            optimizer.step()
            total += loss.item()

        score = evaluate(model, val_dl, device)
        print(f"epoch {epoch} loss {total / len(train_dl):.4f} val_auc {score:.4f}")
        if score > best:
            best = score
            torch.save({"model": model.state_dict(), "findings": findings, "auc": score}, args.out)


if __name__ == "__main__":
    main()
