"""Trainer class with callbacks; per-pixel foreground segmentation of small digit images."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_epoch_end(self, trainer, logs): ...
    def on_batch_end(self, trainer, step, loss): ...


class Printer(Callback):
    def on_epoch_end(self, trainer, logs):
        print(" | ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{k} {v}" for k, v in logs.items()))


class GradNormMeter(Callback):
    def __init__(self):
        self.values = []

    def on_batch_end(self, trainer, step, loss):
        self.values.append(float(trainer.last_norm))

    def on_epoch_end(self, trainer, logs):
        print(f"  mean grad norm {np.mean(self.values):.4f}")
        self.values.clear()


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2 = block(1, c), block(c, 2 * c)
        self.drop = nn.Dropout2d(0.2)
        self.u1 = block(3 * c, c)
        self.head = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.drop(self.d2(F.max_pool2d(a, 2)))
        up = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(self.u1(torch.cat([a, up], 1)))


def dice(logits, target):
    p = (logits > 0).float()
    inter = (p * target).sum()
    return ((2 * inter + 1) / (p.sum() + target.sum() + 1)).item()


class Trainer:
    def __init__(self, model, optimizer, callbacks=(), max_norm=1.0, device="cpu"):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.callbacks = list(callbacks)
        self.max_norm = max_norm
        self.device = device
        self.last_norm = 0.0

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.binary_cross_entropy_with_logits(self.model(x), y)
        loss.backward()
        self.last_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        scores = [dice(self.model(x.to(self.device)), y.to(self.device)) for x, y in loader]
        return float(np.mean(scores))

    def fit(self, train_loader, val_loader, epochs):
        self.model.train()
        for epoch in range(1, epochs + 1):
            losses = []
            for step, (x, y) in enumerate(train_loader):
                loss = self.step(x.to(self.device), y.to(self.device))
                losses.append(loss)
                for cb in self.callbacks:
                    cb.on_batch_end(self, step, loss)
            logs = {"epoch": epoch, "loss": float(np.mean(losses)), "dice": self.validate(val_loader)}
            for cb in self.callbacks:
                cb.on_epoch_end(self, logs)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--npz", default="data/digits8.npz")
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    z = np.load(args.npz)
    img = torch.from_numpy(z["images"]).float().unsqueeze(1) / 255
    lab = torch.from_numpy(z["labels"])
    # class prototypes thresholded give the masks
    masks = torch.stack([(img[lab == k].mean(0) > 0.45).float() for k in range(10)])[lab]
    tr = DataLoader(TensorDataset(img[:720], masks[:720]), batch_size=24, shuffle=True)
    va = DataLoader(TensorDataset(img[720:], masks[720:]), batch_size=60)
    model = MiniUNet()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    Trainer(model, opt, [Printer(), GradNormMeter()]).fit(tr, va, args.epochs)


if __name__ == "__main__":
    main()
