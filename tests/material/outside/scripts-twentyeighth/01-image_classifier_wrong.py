"""Small CNN on generated 1x16x16 shape images (square / cross / diagonal / ring)."""
import argparse
import json
import logging
import math
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("train")


class ShapesDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 4, (n,), generator=g)
        self.images = torch.randn(n, 1, 16, 16, generator=g) * 0.4
        offsets = torch.randint(0, 8, (n, 2), generator=g)
        for i in range(n):
            r, c = offsets[i].tolist()
            self.images[i, 0, r:r + 8, c:c + 8] += self._shape(int(self.labels[i]))

    @staticmethod
    def _shape(label):
        s = torch.zeros(8, 8)
        if label == 0:
            s[2:6, 2:6] = 1
        elif label == 1:
            s[3:5, :] = 1
            s[:, 3:5] = 1
        elif label == 2:
            s.fill_diagonal_(1)
        else:
            s[0], s[-1], s[:, 0], s[:, -1] = 1, 1, 1, 1
        return s

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class SmallCNN(nn.Module):
    def __init__(self, n_classes=4, width=16, dropout=0.3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(8 * width, n_classes))

    def forward(self, x):
        return self.classifier(self.features(x))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    loss_sum = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss_sum += F.cross_entropy(logits, y, reduction="sum").item()
        correct += (logits.argmax(1) == y).sum().item()
        total += y.numel()
    return loss_sum / total, correct / total


def build_scheduler(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def parse_args(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--weight-decay", type=float, default=5e-4)
    p.add_argument("--warmup-epochs", type=float, default=0.5)
    p.add_argument("--label-smoothing", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="runs/shapes")
    return p.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_amp = device.type == "cuda"
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_loader = DataLoader(ShapesDataset(640, 1), args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(ShapesDataset(200, 2), 100)

    model = SmallCNN().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True,
                                weight_decay=args.weight_decay)
    steps_per_epoch = len(train_loader)
    scheduler = build_scheduler(optimizer, int(args.warmup_epochs * steps_per_epoch), args.epochs * steps_per_epoch)
    scaler = torch.amp.GradScaler(device.type, enabled=use_amp)

    best = 0.0
    model.train()
    for epoch in range(args.epochs):
        start = time.time()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, enabled=use_amp):
                loss = F.cross_entropy(model(x), y, label_smoothing=args.label_smoothing)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            running += loss.item()

        val_loss, val_acc = evaluate(model, val_loader, device)
        log.info("epoch %d train %.4f val %.4f acc %.3f lr %.5f (%.1fs)", epoch, running / steps_per_epoch,
                 val_loss, val_acc, scheduler.get_last_lr()[0], time.time() - start)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                 "scheduler": scheduler.state_dict(), "epoch": epoch}
        torch.save(state, out / "last.pt")
        if val_acc > best:
            best = val_acc
            torch.save(state, out / "best.pt")
    (out / "result.json").write_text(json.dumps({"best_acc": best}))


if __name__ == "__main__":
    main()
