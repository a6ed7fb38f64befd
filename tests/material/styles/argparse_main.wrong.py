#!/usr/bin/env python3
"""Train a digit classifier.  python argparse_main.py --data ./digits --epochs 12"""
import argparse
import logging
import os
import time

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

log = logging.getLogger("train")


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width * 2, 3, padding=1)
        self.head = nn.Linear(width * 2 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(x.flatten(1))


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", required=True)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--accumulate", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=2.0)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--resume", default="")
    p.add_argument("--output", default="runs/latest")
    return p.parse_args()


def train_epoch(model, loader, optimizer, scheduler, args, device):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    n_batches = len(loader)
    leftover = n_batches % args.accumulate
    for i, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        in_tail = leftover and i >= n_batches - leftover
        divisor = leftover if in_tail else args.accumulate
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        if (i + 1) % args.accumulate == 0 or i + 1 == n_batches:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            if i % 100 == 0:
                log.info("batch %d/%d loss %.4f norm %.3f", i, n_batches, loss.item(), norm)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hits = total = 0
    for images, labels in loader:
        hits += (model(images.to(device)).argmax(1).cpu() == labels).sum().item()
        total += len(labels)
    return hits / total


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.13,), (0.31,))])
    train_set = datasets.MNIST(args.data, train=True, download=True, transform=tf)
    test_set = datasets.MNIST(args.data, train=False, download=True, transform=tf)
    train = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=2)
    test = DataLoader(test_set, batch_size=512, num_workers=2)
    model = Net(args.width).to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    updates = args.epochs * -(-len(train) // args.accumulate)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=updates)
    first = 0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first = state["epoch"] + 1
    os.makedirs(args.output, exist_ok=True)
    for epoch in range(first, args.epochs):
        began = time.time()
        train_epoch(model, train, optimizer, scheduler, args, device)
        log.info("epoch %d accuracy %.4f in %.1f s", epoch, accuracy(model, test, device), time.time() - began)
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "epoch": epoch,
            },
            os.path.join(args.output, "last.pt"),
        )


if __name__ == "__main__":
    main()
