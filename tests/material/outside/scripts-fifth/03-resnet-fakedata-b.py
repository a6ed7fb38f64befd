import argparse
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import models, transforms
from torchvision.datasets import FakeData
from tqdm import tqdm


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class AverageMeter:
    def __init__(self):
        self.sum, self.n = 0.0, 0

    def update(self, v, n=1):
        self.sum += v * n
        self.n += n

    @property
    def avg(self):
        return self.sum / max(1, self.n)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        tf = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                 transforms.Normalize((0.5,) * 3, (0.25,) * 3)])
        shape = (3, args.image_size, args.image_size)
        self.train_loader = DataLoader(FakeData(args.num_train, shape, args.classes, tf), args.micro_batch,
                                       shuffle=True, drop_last=True)
        self.val_loader = DataLoader(FakeData(args.num_val, shape, args.classes, tf, random_offset=99),
                                     args.micro_batch)
        net = models.resnet18(weights=None, num_classes=args.classes)
        # small batches on the card: group norm instead of batch norm
        self._swap_norm(net)
        self.model = net.to(self.device)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
        self.updates_per_epoch = len(self.train_loader) // args.accum
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=args.lr, total_steps=self.updates_per_epoch * args.epochs)

    def _swap_norm(self, module):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, nn.GroupNorm(min(32, child.num_features // 4), child.num_features))
            else:
                self._swap_norm(child)

    def train_epoch(self, epoch):
        self.model.train()
        meter = AverageMeter()
        accum = self.args.accum
        last = self.updates_per_epoch * accum
        self.optimizer.zero_grad()
        bar = tqdm(self.train_loader, desc=f"epoch {epoch}", disable=self.args.quiet)
        for i, (x, y) in enumerate(bar):
            if i >= last:
                break
            x, y = x.to(self.device), y.to(self.device)
            loss = self.criterion(self.model(x), y)
            (loss / accum).backward()
            meter.update(loss.item(), x.size(0))
            nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_norm)
            if (i + 1) % accum == 0:
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
                bar.set_postfix(loss=f"{meter.avg:.3f}", lr=f"{self.scheduler.get_last_lr()[0]:.4f}")
        return meter.avg

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        correct = AverageMeter()
        for x, y in self.val_loader:
            pred = self.model(x.to(self.device)).argmax(1).cpu()
            correct.update((pred == y).float().mean().item(), y.numel())
        return correct.avg

    def fit(self):
        best = 0.0
        for epoch in range(self.args.epochs):
            loss = self.train_epoch(epoch)
            acc = self.validate()
            print(f"epoch {epoch}: train loss {loss:.4f}  val acc {acc:.4f}")
            if acc > best:
                best = acc
                torch.save({"epoch": epoch, "model": self.model.state_dict(),
                            "optimizer": self.optimizer.state_dict()}, self.args.checkpoint)


def parse():
    p = argparse.ArgumentParser(description="ResNet-18 with gradient accumulation")
    p.add_argument("--num-train", type=int, default=2048)
    p.add_argument("--num-val", type=int, default=256)
    p.add_argument("--image-size", type=int, default=64)
    p.add_argument("--classes", type=int, default=10)
    p.add_argument("--micro-batch", type=int, default=16)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--max-norm", type=float, default=0.5, help="gradient norm limit of an update")
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--checkpoint", default="resnet_best.pt")
    p.add_argument("--quiet", action="store_true")
    return p.parse_args()


if __name__ == "__main__":
    args = parse()
    seed_everything(args.seed)
    Trainer(args).fit()
