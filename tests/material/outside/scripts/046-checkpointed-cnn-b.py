import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def stage(cin, cout, blocks):
    layers = [nn.Conv2d(cin, cout, 3, 2, 1), nn.GroupNorm(4, cout), nn.SiLU()]
    for _ in range(blocks - 1):
        layers += [nn.Conv2d(cout, cout, 3, 1, 1), nn.GroupNorm(4, cout), nn.SiLU()]
    return nn.Sequential(*layers)


class DeepCNN(nn.Module):
    def __init__(self, widths=(12, 24, 48), blocks=2, num_classes=10, use_checkpoint=True):
        super().__init__()
        dims = (3, *widths)
        self.stages = nn.ModuleList(stage(i, o, blocks) for i, o in zip(dims[:-1], dims[1:]))
        self.head = nn.Linear(widths[-1], num_classes)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        for s in self.stages:
            if self.use_checkpoint and self.training:
                x = checkpoint(s, x, use_reentrant=True)
            else:
                x = s(x)
        return self.head(x.mean((2, 3)))


def accuracy(model, loader, device):
    model.eval()
    hit = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return hit / len(loader.dataset)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--no-checkpoint", dest="ckpt", action="store_false", help="keep all activations in memory")
    args = p.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.25,) * 3)])
    train = DataLoader(datasets.CIFAR10("data", True, download=True, transform=tf), args.batch_size, shuffle=True)
    test = DataLoader(datasets.CIFAR10("data", False, download=True, transform=tf), 256)

    model = DeepCNN(use_checkpoint=args.ckpt).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    warmup, step = 5, 0
    for epoch in range(args.epochs):
        model.train()
        start, total = time.time(), 0.0
        for x, y in train:
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = args.lr * min(1.0, step / warmup)
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train):.4f} acc {accuracy(model, test, device):.3f} "
              f"{time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
