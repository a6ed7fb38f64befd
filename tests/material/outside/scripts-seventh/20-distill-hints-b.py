"""
Knowledge distillation on CIFAR-10 with a feature hint (FitNets).

loss = (1 - alpha) * CE(student, label)
     + alpha * T^2 * KL(teacher || student)         soft targets at temperature T
     + beta * MSE(regressor(student feature), teacher feature)

The regressor is a 1x1 convolution that maps the student's channels to the teacher's. It is learned
with the student and thrown away afterwards.

    python distill_hints.py --data ./data --teacher-ckpt resnet34_cifar.pt
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)


def loaders(root, batch_size, workers):
    train_tf = transforms.Compose([
        transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    test_tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    train = datasets.CIFAR10(root, train=True, download=True, transform=train_tf)
    test = datasets.CIFAR10(root, train=False, download=True, transform=test_tf)
    return (DataLoader(train, batch_size, shuffle=True, num_workers=workers, pin_memory=True, drop_last=True),
            DataLoader(test, 512, num_workers=workers))


class Teacher(nn.Module):
    """resnet34 with a CIFAR stem; returns logits and the feature map before pooling"""

    def __init__(self):
        super().__init__()
        net = models.resnet34(weights=None, num_classes=10)
        net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = nn.Identity()
        self.net = net

    def forward(self, x):
        n = self.net
        x = n.maxpool(n.relu(n.bn1(n.conv1(x))))
        f = n.layer4(n.layer3(n.layer2(n.layer1(x))))
        return n.fc(n.avgpool(f).flatten(1)), f


class Student(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        def c(i, o, s):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))
        self.features = nn.Sequential(c(3, width, 1), c(width, width * 2, 2), c(width * 2, width * 2, 1),
                                      c(width * 2, width * 4, 2), c(width * 4, width * 4, 1), c(width * 4, width * 4, 2))
        self.fc = nn.Linear(width * 4, 10)
        self.out_channels = width * 4

    def forward(self, x):
        f = self.features(x)
        return self.fc(f.mean((2, 3))), f


class Distiller:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.teacher = Teacher().to(self.device)
        self.teacher.load_state_dict(torch.load(args.teacher_ckpt, map_location=self.device))
        self.teacher.eval().requires_grad_(False)
        self.student = Student().to(self.device)
        self.regressor = nn.Conv2d(self.student.out_channels, 512, 1).to(self.device)
        params = list(self.student.parameters()) + list(self.regressor.parameters())
        self.optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
        self.train_loader, self.test_loader = loaders(args.data, args.batch_size, args.workers)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=args.epochs)

    def loss(self, x, y):
        a = self.args
        with torch.no_grad():
            t_logits, t_feat = self.teacher(x)
        s_logits, s_feat = self.student(x)
        ce = F.cross_entropy(s_logits, y)
        kd = F.kl_div(F.log_softmax(s_logits / a.T, 1), F.log_softmax(t_logits / a.T, 1),
                      reduction="batchmean", log_target=True) * a.T ** 2
        hint = F.mse_loss(self.regressor(s_feat), t_feat)
        return (1 - a.alpha) * ce + a.alpha * kd + a.beta * hint, (ce.item(), kd.item(), hint.item())

    @torch.no_grad()
    def test(self):
        self.student.eval()
        ok = n = 0
        for x, y in self.test_loader:
            pred = self.student(x.to(self.device))[0].argmax(1).cpu()
            ok += (pred == y).sum().item()
            n += len(y)
        return ok / n

    def fit(self):
        for epoch in range(self.args.epochs):
            self.student.train()
            parts = torch.zeros(3)
            for x, y in self.train_loader:
                x, y = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
                loss, p = self.loss(x, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                parts += torch.tensor(p)
            self.scheduler.step()
            ce, kd, hint = (parts / len(self.train_loader)).tolist()
            print(f"epoch {epoch} ce {ce:.3f} kd {kd:.3f} hint {hint:.3f} test acc {self.test():.4f}", flush=True)
            torch.save(self.student.state_dict(), self.args.out)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="./data")
    p.add_argument("--teacher-ckpt", default="resnet34_cifar.pt")
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--T", type=float, default=4.0)
    p.add_argument("--alpha", type=float, default=0.7)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", default="student.pt")
    torch.manual_seed(0)
    Distiller(p.parse_args()).fit()
