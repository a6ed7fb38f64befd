# -*- coding: utf-8 -*-
"""Age regression + gender classification + race classification from UTKFace file names.

File names look like  [age]_[gender]_[race]_[date].jpg
"""
import argparse
import logging
from pathlib import Path

import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import models, transforms

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")
logger = logging.getLogger(__name__)


class UTKFace(Dataset):
    def __init__(self, root, transform):
        self.transform = transform
        self.samples = []
        for p in sorted(Path(root).glob("*.jpg")):
            parts = p.name.split("_")
            if len(parts) == 4 and all(s.isdigit() for s in parts[:3]):
                self.samples.append((p, int(parts[0]), int(parts[1]), int(parts[2])))
        logger.info("%d faces", len(self.samples))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        p, age, gender, race = self.samples[idx]
        img = self.transform(Image.open(p).convert("RGB"))
        return img, torch.tensor(age / 100.0), torch.tensor(gender), torch.tensor(race)


class FaceNet(nn.Module):
    def __init__(self):
        super().__init__()
        net = models.efficientnet_b0(weights=models.EfficientNet_B0_Weights.DEFAULT)
        dim = net.classifier[1].in_features
        net.classifier = nn.Identity()
        self.backbone = net
        self.age = nn.Sequential(nn.Dropout(0.2), nn.Linear(dim, 128), nn.ReLU(), nn.Linear(128, 1))
        self.gender = nn.Sequential(nn.Dropout(0.2), nn.Linear(dim, 2))
        self.race = nn.Sequential(nn.Dropout(0.2), nn.Linear(dim, 5))

    def forward(self, x):
        f = self.backbone(x)
        return self.age(f).squeeze(1), self.gender(f), self.race(f)


class UncertaintyWeights(nn.Module):
    """Kendall et al. 2018: sum_i exp(-s_i) L_i + s_i"""

    def __init__(self, n):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.s) * losses + self.s).sum()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--faces", required=True)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--save", default="utk_multitask.pth")
    args = ap.parse_args()

    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tf = transforms.Compose([
        transforms.Resize((160, 160)),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    data = UTKFace(args.faces, tf)
    n_val = len(data) // 10
    train_set, val_set = random_split(data, [len(data) - n_val, n_val], torch.Generator().manual_seed(3))
    train = DataLoader(train_set, args.batch, shuffle=True, num_workers=args.workers, drop_last=True)
    val = DataLoader(val_set, args.batch, num_workers=args.workers)

    model = FaceNet().to(device)
    weigh = UncertaintyWeights(3).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    l1, ce = nn.L1Loss(), nn.CrossEntropyLoss()

    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        model.train()
        for i, (img, age, gender, race) in enumerate(train):
            img, age, gender, race = (t.to(device) for t in (img, age, gender, race))
            p_age, p_gender, p_race = model(img)
            losses = [l1(p_age, age), ce(p_gender, gender), ce(p_race, race)]
            loss = weigh(losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i % 50 == 0:
                logger.info("epoch %d %d/%d age %.3f gender %.3f race %.3f s %s", epoch, i, len(train),
                            *[l.item() for l in losses], [round(v, 3) for v in weigh.s.tolist()])
        scheduler.step()

        model.eval()
        mae = g_ok = r_ok = n = 0
        with torch.no_grad():
            for img, age, gender, race in val:
                a, g, r = (t.cpu() for t in model(img.to(device)))
                mae += 100 * (a - age).abs().sum().item()
                g_ok += (g.argmax(1) == gender).sum().item()
                r_ok += (r.argmax(1) == race).sum().item()
                n += len(age)
        logger.info("epoch %d val: MAE %.2f years, gender %.3f, race %.3f", epoch, mae / n, g_ok / n, r_ok / n)
        if mae / n < best:
            best = mae / n
            torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
