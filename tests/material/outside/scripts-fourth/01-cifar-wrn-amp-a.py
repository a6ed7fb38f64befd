"""Train a small WideResNet on CIFAR-10 with mixed precision.

    python train_cifar.py --data ./data --epochs 60 --batch-size 128 --amp
"""
import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride, drop=0.0):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.drop = drop
        self.shortcut = None
        if cin != cout or stride != 1:
            self.shortcut = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(x))
        sc = x if self.shortcut is None else self.shortcut(out)
        out = self.conv1(out)
        out = F.dropout(F.relu(self.bn2(out)), self.drop, self.training)
        return self.conv2(out) + sc


class WideResNet(nn.Module):
    def __init__(self, depth=16, widen=4, num_classes=10, drop=0.0):
        super().__init__()
        n = (depth - 4) // 6
        widths = [16, 16 * widen, 32 * widen, 64 * widen]
        self.stem = nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)
        blocks = []
        for i in range(3):
            for j in range(n):
                cin = widths[i] if j == 0 else widths[i + 1]
                stride = 2 if (j == 0 and i > 0) else 1
                blocks.append(BasicBlock(cin, widths[i + 1], stride, drop))
        self.blocks = nn.Sequential(*blocks)
        self.bn = nn.BatchNorm2d(widths[3])
        self.fc = nn.Linear(widths[3], num_classes)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        x = F.relu(self.bn(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_loaders(args):
    norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    train_tf = transforms.Compose([
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        norm,
    ])
    test_tf = transforms.Compose([transforms.ToTensor(), norm])
    train_set = datasets.CIFAR10(args.data, train=True, download=True, transform=train_tf)
    test_set = datasets.CIFAR10(args.data, train=False, download=True, transform=test_tf)
    train = DataLoader(train_set, args.batch_size, shuffle=True, num_workers=args.workers,
                       pin_memory=True, drop_last=True)
    test = DataLoader(test_set, 2 * args.batch_size, num_workers=args.workers, pin_memory=True)
    return train, test


def train_one_epoch(model, loader, optimizer, scheduler, scaler, device, args, epoch):
    model.train()
    loss_sum, correct, seen = 0.0, 0, 0
    for step, (images, target) in enumerate(loader):
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)

        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device.type, dtype=torch.float16, enabled=args.amp):
            logits = model(images)
            loss = F.cross_entropy(logits, target, label_smoothing=args.label_smoothing)

        scaler.scale(loss).backward()
        if args.clip_grad > 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
        old_scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= old_scale:  # not a skipped step
            scheduler.step()

        loss_sum += loss.item() * images.size(0)
        correct += (logits.argmax(1) == target).sum().item()
        seen += images.size(0)
        if step % args.log_every == 0:
            print(f"epoch {epoch} [{step}/{len(loader)}] loss {loss.item():.4f} "
                  f"lr {optimizer.param_groups[0]['lr']:.4f} scale {scaler.get_scale():.0f}")
    return loss_sum / seen, correct / seen


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = seen = 0
    for images, target in loader:
        out = model(images.to(device))
        correct += (out.argmax(1).cpu() == target).sum().item()
        seen += target.numel()
    return correct / seen


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="./data")
    p.add_argument("--out", default="./runs/wrn")
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--wd", type=float, default=5e-4)
    p.add_argument("--clip-grad", type=float, default=2.0)
    p.add_argument("--label-smoothing", type=float, default=0.1)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--amp", action="store_true")
    p.add_argument("--resume", default="")
    args = p.parse_args()

    os.makedirs(args.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, test_loader = get_loaders(args)
    model = WideResNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9,
                                weight_decay=args.wd, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, T_max=args.epochs * len(train_loader))
    scaler = torch.amp.GradScaler(device.type, enabled=args.amp)

    start, best = 0, 0.0
    if args.resume:
        ck = torch.load(args.resume, map_location=device)
        model.load_state_dict(ck["model"])
        optimizer.load_state_dict(ck["optimizer"])
        scheduler.load_state_dict(ck["scheduler"])
        scaler.load_state_dict(ck["scaler"])
        start, best = ck["epoch"] + 1, ck["best"]

    for epoch in range(start, args.epochs):
        t0 = time.time()
        tr_loss, tr_acc = train_one_epoch(model, train_loader, optimizer, scheduler, scaler,
                                          device, args, epoch)
        acc = evaluate(model, test_loader, device)
        print(f"== epoch {epoch}: train loss {tr_loss:.4f} acc {tr_acc:.4f} | "
              f"test acc {acc:.4f} ({time.time() - t0:.1f}s)")
        best = max(best, acc)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(),
                    "epoch": epoch, "best": best}, os.path.join(args.out, "last.pt"))


if __name__ == "__main__":
    main()
