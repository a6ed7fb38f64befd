"""torchrun --nproc_per_node=4 ddp_cifar.py --data /scratch/cifar10 --epochs 60"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = nn.Identity()
        if stride != 1 or cin != cout:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, width=64, blocks=(2, 2, 2, 2), classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        layers, c = [], width
        for i, n in enumerate(blocks):
            for j in range(n):
                layers.append(BasicBlock(c, width * 2 ** i, 2 if i > 0 and j == 0 else 1))
                c = width * 2 ** i
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(c, classes)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


def setup():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    return dist.get_rank(), dist.get_world_size(), local


def build_data(root, batch_size, rank):
    norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616))
    tr = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(),
                             transforms.ToTensor(), norm])
    te = transforms.Compose([transforms.ToTensor(), norm])
    if rank == 0:
        datasets.CIFAR10(root, download=True)
    dist.barrier()
    train_set = datasets.CIFAR10(root, train=True, transform=tr)
    test_set = datasets.CIFAR10(root, train=False, transform=te)
    sampler = DistributedSampler(train_set, shuffle=True)
    train = DataLoader(train_set, batch_size, sampler=sampler, num_workers=4, pin_memory=True, drop_last=True)
    test = DataLoader(test_set, 512, sampler=DistributedSampler(test_set, shuffle=False), num_workers=2)
    return train, sampler, test


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        stats[0] += (model(x).argmax(1) == y).sum()
        stats[1] += y.numel()
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=128, help="per GPU")
    ap.add_argument("--lr", type=float, default=0.1, help="for a total batch of 128")
    ap.add_argument("--out", default="resnet18_cifar.pt")
    args = ap.parse_args()

    rank, world, local = setup()
    device = torch.device("cuda", local)
    torch.manual_seed(1000 + rank)
    train, sampler, test = build_data(args.data, args.batch_size, rank)

    net = nn.SyncBatchNorm.convert_sync_batchnorm(ResNet()).to(device)
    model = DDP(net, device_ids=[local])
    lr = args.lr * args.batch_size * world / 128
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    steps = args.epochs * len(train)
    warm = 5 * len(train)
    sched = torch.optim.lr_scheduler.SequentialLR(opt, [
        torch.optim.lr_scheduler.LinearLR(opt, 0.05, 1.0, total_iters=warm),
        torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps - warm),
    ], milestones=[warm])

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for i, (x, y) in enumerate(train):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            if rank == 0 and i % 50 == 0:
                print(f"{epoch:3d} {i:4d} loss {loss.item():.3f} lr {sched.get_last_lr()[0]:.4f}", flush=True)
        acc = evaluate(model, test, device)
        if rank == 0:
            print(f"epoch {epoch} test acc {acc:.4f}", flush=True)
            torch.save(model.module.state_dict(), args.out)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
