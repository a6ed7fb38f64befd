import argparse
import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("kd")


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class ConvNet(nn.Module):
    def __init__(self, width, n_classes, dropout=0.0):
        super().__init__()
        w = width
        self.features = nn.Sequential(
            conv_bn(3, w), conv_bn(w, w), conv_bn(w, 2 * w, 2), conv_bn(2 * w, 2 * w),
            conv_bn(2 * w, 4 * w, 2), conv_bn(4 * w, 4 * w), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(4 * w, n_classes)

    def forward(self, x):
        return self.fc(self.drop(self.features(x)))


class DistillModel(nn.Module):
    """Teacher and student side by side; only the student is optimised."""

    def __init__(self, teacher, student, temperature, alpha):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.t = temperature
        self.alpha = alpha
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.teacher.eval()

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x):
        return self.student(x)

    def loss(self, x, y):
        s = self.student(x)
        with torch.no_grad():
            t = self.teacher(x)
        soft = F.kl_div(F.log_softmax(s / self.t, 1), F.log_softmax(t / self.t, 1),
                        reduction="batchmean", log_target=True) * self.t ** 2
        hard = F.cross_entropy(s, y)
        return self.alpha * soft + (1 - self.alpha) * hard, hard.detach(), soft.detach()


def load_split(path):
    blob = np.load(path)
    x = torch.from_numpy(blob["x"]).float().permute(0, 3, 1, 2) / 255.0
    return TensorDataset((x - 0.5) / 0.25, torch.from_numpy(blob["y"]).long())


def fit_teacher(teacher, loader, epochs, device):
    opt = torch.optim.SGD(teacher.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=epochs * len(loader))
    teacher.train()
    for ep in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x.to(device)), y.to(device)).backward()
            opt.step()
            sched.step()
        log.info("teacher epoch %d done", ep)


@torch.no_grad()
def accuracy(model, loader, device):
    was_training = model.training
    model.eval()
    hits = total = 0
    for x, y in loader:
        hits += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        total += len(y)
    model.train(was_training)
    return hits / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="data/signs_train.npz")
    ap.add_argument("--test", default="data/signs_test.npz")
    ap.add_argument("--classes", type=int, default=43)
    ap.add_argument("--teacher-epochs", type=int, default=20)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--temperature", type=float, default=4.0)
    ap.add_argument("--alpha", type=float, default=0.8)
    ap.add_argument("--teacher-width", type=int, default=64)
    ap.add_argument("--student-width", type=int, default=12)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader = DataLoader(load_split(args.train), args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(load_split(args.test), 512)

    teacher = ConvNet(args.teacher_width, args.classes, dropout=0.4).to(device)
    fit_teacher(teacher, train_loader, args.teacher_epochs, device)
    log.info("teacher accuracy %.4f", accuracy(teacher, test_loader, device))

    system = DistillModel(teacher, ConvNet(args.student_width, args.classes), args.temperature, args.alpha).to(device)
    opt = torch.optim.SGD(system.student.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)

    for epoch in range(args.epochs):
        system.train()
        tot_h = tot_s = 0.0
        for x, y in train_loader:
            loss, hard, soft = system.loss(x.to(device), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot_h += hard.item()
            tot_s += soft.item()
        sched.step()
        acc = accuracy(system, test_loader, device)
        log.info("epoch %d ce %.4f kd %.4f acc %.4f", epoch, tot_h / len(train_loader), tot_s / len(train_loader), acc)
    torch.save(system.student.state_dict(), "student.pt")


if __name__ == "__main__":
    main()
