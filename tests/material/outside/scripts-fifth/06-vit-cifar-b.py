import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

try:
    import wandb
except ImportError:
    wandb = None


class PatchEmbed(nn.Module):
    def __init__(self, patch, dim):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, image=32, patch=4, dim=192, depth=6, heads=3, classes=10, drop=0.1):
        super().__init__()
        n = (image // patch) ** 2
        self.embed = PatchEmbed(patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        self.blocks = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(dim, heads, dim * 4, drop, activation="gelu", batch_first=True,
                                       norm_first=True), depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.blocks(x))[:, 0])


def loaders(root, batch, workers):
    mean, std = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)
    tr = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(),
                             transforms.ToTensor(), transforms.Normalize(mean, std)])
    te = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])
    train = datasets.CIFAR10(root, train=True, download=True, transform=tr)
    test = datasets.CIFAR10(root, train=False, download=True, transform=te)
    return (DataLoader(train, batch, shuffle=True, num_workers=workers, drop_last=True),
            DataLoader(test, batch, num_workers=workers))


def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    with torch.inference_mode():
        for x, y in loader:
            correct += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
            total += y.numel()
    return correct / total


def main(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert args.effective_batch % args.batch_size == 0
    accum = args.effective_batch // args.batch_size
    train_loader, test_loader = loaders(args.data, args.batch_size, args.workers)
    model = ViT(dim=args.dim, depth=args.depth).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    steps_per_epoch = len(train_loader) // accum
    total, warm = steps_per_epoch * args.epochs, args.warmup_steps

    def lr_lambda(s):
        if s < warm:
            return (s + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (s - warm) / max(1, total - warm)))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)
    run = wandb.init(project="vit-cifar", config=vars(args)) if wandb and args.wandb else None
    fwd = torch.compile(model) if args.compile else model

    for epoch in range(args.epochs):
        model.train()
        batches = iter(train_loader)
        seen, loss_sum = 0, 0.0
        for step in range(steps_per_epoch):
            optimizer.zero_grad(set_to_none=True)
            for _ in range(accum):
                x, y = next(batches)
                x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
                loss = criterion(fwd(x), y)
                loss_sum += loss.item() * y.numel()
                seen += y.numel()
                (loss / accum).backward()
            optimizer.step()
            scheduler.step()
            if run:
                run.log({"loss": loss_sum / seen, "lr": scheduler.get_last_lr()[0]})
        acc = evaluate(model, test_loader, device)
        print(f"[{epoch + 1}/{args.epochs}] loss {loss_sum / max(1, seen):.4f} test acc {acc:.4f}")
        torch.save({"model": model.state_dict(), "epoch": epoch}, "vit_last.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="./data")
    p.add_argument("--batch-size", type=int, default=64, help="what fits on the card")
    p.add_argument("--effective-batch", type=int, default=512)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--warmup-steps", type=int, default=200)
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--dim", type=int, default=192)
    p.add_argument("--depth", type=int, default=6)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--compile", action="store_true")
    p.add_argument("--wandb", action="store_true")
    main(p.parse_args())
