"""
torchrun --standalone --nproc_per_node=4 train.py --epochs 90
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms
from torchvision.models import resnet18


def setup():
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank)
    return torch.device("cpu")


def build_loaders(batch_size):
    tf = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                             transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))])
    # only one process downloads
    if dist.get_rank() == 0:
        datasets.CIFAR10("data", train=True, download=True)
    dist.barrier()
    train = datasets.CIFAR10("data", train=True, transform=tf)
    sampler = DistributedSampler(train, shuffle=True)
    return DataLoader(train, batch_size=batch_size, sampler=sampler, num_workers=0, drop_last=True), sampler


def train_epoch(model, loader, optimizer, criterion, device):
    model.train()
    loss_sum = torch.zeros(1, device=device)
    for images, target in loader:
        images, target = images.to(device), target.to(device)
        optimizer.zero_grad(set_to_none=True)
        output = model.module(images)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        loss_sum += loss.detach()
    dist.all_reduce(loss_sum)
    return loss_sum.item() / (len(loader) * dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--save", default="resnet18_cifar.pt")
    args = parser.parse_args()

    device = setup()
    torch.manual_seed(0)
    loader, sampler = build_loaders(args.batch_size)
    model = resnet18(num_classes=10).to(device)
    model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[30, 60], gamma=0.1)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, criterion, device)
        scheduler.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.4f}", flush=True)
            torch.save(model.module.state_dict(), args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
