"""Knowledge distillation on CIFAR-100: a frozen teacher checkpoint teaches a small student.

The teacher is used in inference mode throughout (running batch-norm statistics, no dropout).
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def conv_net(widths, classes, p_drop):
    layers, cin = [], 3
    for i, w in enumerate(widths):
        layers += [nn.Conv2d(cin, w, 3, stride=1 if i == 0 else 2, padding=1, bias=False), nn.BatchNorm2d(w), nn.ReLU()]
        cin = w
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(p_drop), nn.Linear(cin, classes)
    )


class Distiller(nn.Module):
    def __init__(self, student, teacher, temperature, alpha):
        super().__init__()
        self.student = student
        self.teacher = teacher
        self.temperature = temperature
        self.alpha = alpha
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.teacher.eval()

    def forward(self, x, y):
        with torch.no_grad():
            t_logits = self.teacher(x)
        s_logits = self.student(x)
        t = self.temperature
        kd = F.kl_div(F.log_softmax(s_logits / t, 1), F.softmax(t_logits / t, 1), reduction="batchmean") * t * t
        ce = F.cross_entropy(s_logits, y)
        return self.alpha * kd + (1 - self.alpha) * ce, s_logits


def loaders(root, batch, workers):
    norm = transforms.Normalize((0.507, 0.487, 0.441), (0.267, 0.256, 0.276))
    aug = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
    plain = transforms.Compose([transforms.ToTensor(), norm])
    train = datasets.CIFAR100(root, True, aug, download=True)
    test = datasets.CIFAR100(root, False, plain, download=True)
    return (
        DataLoader(train, batch, shuffle=True, num_workers=workers, drop_last=True),
        DataLoader(test, 500, num_workers=workers),
    )


@torch.no_grad()
def top1(net, loader, device):
    was = net.training
    net.eval()
    ok = n = 0
    for x, y in loader:
        ok += (net(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += len(y)
    net.train(was)
    return 100.0 * ok / n


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--root", default="data")
    ap.add_argument("--teacher", default="teacher.pt")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--temperature", type=float, default=4.0)
    ap.add_argument("--alpha", type=float, default=0.7)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--out", default="student.pt")
    args = ap.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    train_dl, test_dl = loaders(args.root, args.batch, args.workers)
    teacher = conv_net([64, 128, 256, 512], 100, 0.3)
    teacher.load_state_dict(torch.load(args.teacher, map_location="cpu"))
    student = conv_net([32, 64, 128], 100, 0.1)
    distiller = Distiller(student, teacher, args.temperature, args.alpha).to(device)
    print(f"teacher top-1 {top1(distiller.teacher, test_dl, device):.2f}")

    opt = torch.optim.SGD(distiller.student.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [args.epochs // 2, 3 * args.epochs // 4], 0.1)
    best = 0.0
    for epoch in range(args.epochs):
        distiller.train()
        total = 0.0
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            loss, _ = distiller(x, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()
        acc = top1(distiller.student, test_dl, device)
        print(f"epoch {epoch} loss {total / len(train_dl):.4f} student top-1 {acc:.2f}")
        if acc > best:
            best = acc
            torch.save(distiller.student.state_dict(), args.out)


if __name__ == "__main__":
    main()
