import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("distill")


def conv(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Net(nn.Module):
    def __init__(self, widths, classes=10):
        super().__init__()
        layers, c = [], 3
        for i, w in enumerate(widths):
            layers.append(conv(c, w, 2 if i else 1))
            c = w
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(c, classes)

    def classify(self, fmap):
        return self.head(F.adaptive_avg_pool2d(fmap, 1).flatten(1))

    def forward(self, x):
        return self.classify(self.features(x))


class Distiller:
    def __init__(self, teacher, student, t_dim, s_dim, args, device):
        self.teacher = teacher.to(device).eval().requires_grad_(False)
        self.student = student.to(device)
        self.regressor = nn.Conv2d(s_dim, t_dim, 1).to(device)
        self.args, self.device = args, device
        params = list(self.student.parameters()) + list(self.regressor.parameters())
        self.opt = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=5e-4)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, args.epochs)

    def losses(self, x, y):
        with torch.no_grad():
            t_feat = self.teacher.features(x)
            t_logits = self.teacher.classify(t_feat)
        s_feat = self.student.features(x)
        s_logits = self.student.classify(s_feat)
        T = self.args.temperature
        soft = F.kl_div(
            F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean"
        ) * T * T
        hint = F.mse_loss(self.regressor(s_feat), t_feat)
        hard = F.cross_entropy(s_logits, y)
        return hard, soft, hint

    def fit(self, train, test):
        a = self.args
        for epoch in range(a.epochs):
            self.student.train()
            sums = torch.zeros(3)
            for x, y in train:
                x, y = x.to(self.device), y.to(self.device)
                hard, soft, hint = self.losses(x, y)
                loss = (1 - a.alpha) * hard + a.alpha * soft + a.beta * hint
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                sums += torch.stack([hard, soft, hint]).detach().cpu()
            self.sched.step()
            h, s, f = (sums / len(train)).tolist()
            log.info("epoch %d hard %.3f soft %.3f hint %.3f acc %.3f", epoch, h, s, f, self.test(test))
        torch.save(self.student.state_dict(), a.out)

    @torch.no_grad()
    def test(self, loader):
        self.student.eval()
        good = n = 0
        for x, y in loader:
            good += (self.student(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            n += len(y)
        return good / n


def load_cifar(root):
    from torchvision import datasets, transforms

    norm = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261))
    aug = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(),
                              transforms.ToTensor(), norm])
    plain = transforms.Compose([transforms.ToTensor(), norm])
    return (datasets.CIFAR10(root, True, aug, download=True),
            datasets.CIFAR10(root, False, plain, download=True))


def load_debug():
    return (TensorDataset(torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))),
            TensorDataset(torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="data/cifar10")
    ap.add_argument("--teacher", default="teacher.pt")
    ap.add_argument("--debug", action="store_true")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--temperature", type=float, default=4.0)
    ap.add_argument("--alpha", type=float, default=0.5)
    ap.add_argument("--beta", type=float, default=10.0)
    ap.add_argument("--out", default="student.pt")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_ds, test_ds = load_debug() if args.debug else load_cifar(args.root)
    teacher, student = Net([64, 128, 256]), Net([16, 32, 32])
    if not args.debug:
        teacher.load_state_dict(torch.load(args.teacher, map_location="cpu"))
    distiller = Distiller(teacher, student, 256, 32, args, device)
    distiller.fit(
        DataLoader(train_ds, args.batch_size, shuffle=True, drop_last=not args.debug),
        DataLoader(test_ds, args.batch_size),
    )
