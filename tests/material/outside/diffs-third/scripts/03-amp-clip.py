import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument('--epochs', type=int, default=10)
    p.add_argument('--lr', type=float, default=0.05)
    p.add_argument('--clip', type=float, default=1.0)
    return p.parse_args()


def main():
    args = get_args()
    device = torch.device('cuda')
    tf = transforms.Compose([transforms.RandomCrop(32, 4), transforms.ToTensor()])
    train = DataLoader(datasets.CIFAR10('data', True, tf, download=True), 128, shuffle=True, num_workers=4)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, 1, 1), nn.BatchNorm2d(128), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    scaler = torch.amp.GradScaler('cuda')
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        for x, y in train:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            with torch.autocast('cuda', dtype=torch.float16):
                loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
        print(epoch, loss.item())


if __name__ == '__main__':
    main()
