# segmentation of blobs, U-Net-ish, BCE + dice
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


class TinyUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2, self.mid = conv(1, c), conv(c, 2 * c), conv(2 * c, 2 * c)
        self.u1 = conv(4 * c, c)
        self.u0 = conv(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        u = self.u1(torch.cat([F.interpolate(m, scale_factor=2.0), b], 1))
        u = self.u0(torch.cat([F.interpolate(u, scale_factor=2.0), a], 1))
        return self.out(u).squeeze(1)


class BCEDiceLoss(nn.Module):
    def __init__(self, weight=0.5, smooth=1.0):
        super().__init__()
        self.weight, self.smooth = weight, smooth

    def dice(self, logits, target):
        probs = torch.sigmoid(logits)
        pred = (probs > 0.5).float().flatten(1)
        target = target.flatten(1)
        inter = (pred * target).sum(1)
        score = (2 * inter + self.smooth) / (pred.sum(1) + target.sum(1) + self.smooth)
        return 1 - score.mean()

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target)
        return (1 - self.weight) * bce + self.weight * self.dice(logits, target)


class CellDataset(torch.utils.data.Dataset):
    """Crops with random flips and rotations in training, untouched images otherwise."""

    def __init__(self, images, masks, train, seed=0):
        self.images, self.masks, self.train = images, masks, train
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img, mask = self.images[i], self.masks[i]
        if self.train:
            k = int(self.rng.integers(0, 4))
            img, mask = np.rot90(img, k, (1, 2)), np.rot90(mask, k, (0, 1))
            if self.rng.random() < 0.5:
                img, mask = img[:, :, ::-1], mask[:, ::-1]
            img = img * self.rng.uniform(0.8, 1.2) + self.rng.normal(0, 0.05)
        return (torch.from_numpy(np.ascontiguousarray(img, dtype=np.float32)),
                torch.from_numpy(np.ascontiguousarray(mask, dtype=np.float32)))


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def add(self, value, n):
        self.total += value * n
        self.n += n

    @property
    def mean(self):
        return self.total / max(1, self.n)


def iou(logits, target):
    p, t = logits > 0, target > 0.5
    return ((p & t).sum((1, 2)).float() / (p | t).sum((1, 2)).clamp(min=1)).mean().item()


def main():
    torch.manual_seed(4)
    z = np.load("data/cells.npz")
    ntr = 160
    train_loader = torch.utils.data.DataLoader(
        CellDataset(z["images"][:ntr], z["masks"][:ntr], train=True), batch_size=16, shuffle=True)
    val_loader = torch.utils.data.DataLoader(
        CellDataset(z["images"][ntr:], z["masks"][ntr:], train=False), batch_size=20)
    net, criterion = TinyUNet(), BCEDiceLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
    for epoch in range(6):
        net.train()
        train_meter = Meter()
        for image, mask in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(image), mask)
            loss.backward()
            optimizer.step()
            train_meter.add(loss.item(), len(image))
        net.eval()
        val_meter, iou_meter = Meter(), Meter()
        with torch.inference_mode():
            for image, mask in val_loader:
                out = net(image)
                val_meter.add(criterion(out, mask).item(), len(image))
                iou_meter.add(iou(out, mask), len(image))
        plateau.step(val_meter.mean)
        print(f"epoch {epoch + 1}: train {train_meter.mean:.4f} val {val_meter.mean:.4f} IoU {iou_meter.mean:.3f}")


if __name__ == "__main__":
    main()
