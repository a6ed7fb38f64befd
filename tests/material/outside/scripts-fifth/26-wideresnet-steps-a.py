import argparse
import itertools
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride, drop):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(cin), nn.BatchNorm2d(cout)
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.drop = nn.Dropout(drop)
        self.short = nn.Conv2d(cin, cout, 1, stride, bias=False) if stride != 1 or cin != cout else nn.Identity()

    def forward(self, x):
        h = F.relu(self.bn1(x))
        out = self.conv2(self.drop(F.relu(self.bn2(self.conv1(h)))))
        return out + self.short(h)


class WideResNet(nn.Module):
    def __init__(self, depth=16, widen=2, classes=6, drop=0.3):
        super().__init__()
        n = (depth - 4) // 6
        widths = [16, 16 * widen, 32 * widen, 64 * widen]
        layers, cin = [nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)], widths[0]
        for w, stride in zip(widths[1:], (1, 2, 2)):
            for i in range(n):
                layers.append(BasicBlock(cin, w, stride if i == 0 else 1, drop))
                cin = w
        self.body = nn.Sequential(*layers, nn.BatchNorm2d(cin), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(cin, classes)

    def forward(self, x):
        return self.fc(self.body(x))


def stripes(n, size, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    freq = torch.tensor([1.0, 2.0, 3.0])[y % 3][:, None, None]
    ax = torch.linspace(0, 6.28, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    ph = torch.rand(n, 1, 1, generator=g) * 6.28
    field = torch.where((y < 3)[:, None, None], torch.sin(freq * xx + ph), torch.sin(freq * yy + ph))
    x = field[:, None] * torch.rand(n, 3, 1, 1, generator=g) + 0.7 * torch.randn(n, 3, size, size, generator=g)
    return TensorDataset(x, y)


def cycle(loader):
    while True:
        yield from loader


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    for x, y in loader:
        correct += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        total += len(y)
    model.train()
    return correct / total


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=4000)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--n-train", type=int, default=5000)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--depth", type=int, default=16)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(stripes(args.n_train, args.size, 1), args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(stripes(600, args.size, 2), 200)
    model = WideResNet(args.depth).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    window, best = [], 0.0
    model.train()
    for step, (x, y) in enumerate(itertools.islice(cycle(train_loader), args.steps), start=1):
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        window.append(loss.item())
        if step % args.eval_every == 0 or step == args.steps:
            acc = evaluate(model, val_loader, device)
            logging.info("step %d loss %.4f val %.4f", step, sum(window) / len(window), acc)
            window.clear()
            if acc > best:
                best = acc
                torch.save(model.state_dict(), "wrn_best.pt")


if __name__ == "__main__":
    main()
