import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser("knowledge distillation on synthetic spectra")
    parser.add_argument("--teacher", default="", help="teacher checkpoint, trained here if missing")
    parser.add_argument("--teacher_epochs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--bs", type=int, default=40)
    parser.add_argument("--accum", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--T", type=float, default=3.0)
    parser.add_argument("--alpha", type=float, default=0.7)
    parser.add_argument("--clip", type=float, default=2.0)
    parser.add_argument("--n_train", type=int, default=1200)
    parser.add_argument("--save", default="distill_out")
    parser.add_argument("--resume", default="")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def spectra(n, gen, n_classes=6, length=64):
    y = torch.randint(0, n_classes, (n,), generator=gen)
    grid = torch.arange(length).float()
    peaks = torch.stack([8 + 9 * y.float(), 50 - 6 * y.float()], 1)
    peaks = peaks + 1.5 * torch.randn(n, 2, generator=gen)
    x = torch.exp(-(grid[None, None] - peaks[..., None]).pow(2) / 8).sum(1)
    return x + 0.35 * torch.randn(n, length, generator=gen), y


class ConvTeacher(nn.Module):
    def __init__(self, n_classes=6, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, width, 5, padding=2), nn.GroupNorm(4, width), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(width, 2 * width, 5, padding=2), nn.GroupNorm(4, 2 * width), nn.ReLU(), nn.MaxPool1d(2))
        self.head = nn.Linear(2 * width * 16, n_classes)

    def forward(self, x):
        return self.head(self.body(x.unsqueeze(1)).flatten(1))


class MLPStudent(nn.Module):
    def __init__(self, n_classes=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def train_teacher(teacher, loader, epochs):
    opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
    for epoch in range(epochs):
        teacher.train()
        for x, y in loader:
            loss = F.cross_entropy(teacher(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"[teacher] epoch {epoch} loss {loss.item():.4f}")


def kd_loss(student_logits, teacher_logits, y, T, alpha):
    soft = F.kl_div(F.log_softmax(student_logits / T, dim=1), F.log_softmax(teacher_logits / T, dim=1),
                    reduction="batchmean", log_target=True) * T * T
    hard = F.cross_entropy(student_logits, y)
    return alpha * soft + (1 - alpha) * hard


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.save, exist_ok=True)
    gen = torch.Generator().manual_seed(args.seed)
    train_loader = DataLoader(TensorDataset(*spectra(args.n_train, gen)), batch_size=args.bs, shuffle=True)
    test_loader = DataLoader(TensorDataset(*spectra(600, gen)), batch_size=200)

    teacher = ConvTeacher()
    if args.teacher and os.path.exists(args.teacher):
        teacher.load_state_dict(torch.load(args.teacher))
    else:
        train_teacher(teacher, train_loader, args.teacher_epochs)
        torch.save(teacher.state_dict(), os.path.join(args.save, "teacher.pt"))
    teacher.eval()
    teacher.requires_grad_(False)
    print(f"teacher accuracy {accuracy(teacher, test_loader):.3f}")

    student = MLPStudent()
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    updates_per_epoch = (len(train_loader) + args.accum - 1) // args.accum
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * updates_per_epoch)
    first_epoch = 0
    if args.resume:
        ckpt = torch.load(args.resume)
        student.load_state_dict(ckpt["student"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        first_epoch = ckpt["epoch"] + 1

    num_batches = len(train_loader)
    tail = num_batches % args.accum
    for epoch in range(first_epoch, args.epochs):
        student.train()
        meter = 0.0
        for step, (x, y) in enumerate(train_loader):
            with torch.no_grad():
                t_logits = teacher(x)
            loss = kd_loss(student(x), t_logits, y, args.T, args.alpha)
            meter += loss.item()
            in_tail = step >= num_batches - tail
            (loss / (tail if in_tail else args.accum)).backward()

            if (step + 1) % args.accum == 0 or step + 1 == num_batches:
                nn.utils.clip_grad_norm_(student.parameters(), args.clip)
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
        acc = accuracy(student, test_loader)
        print(f"epoch {epoch} kd loss {meter / num_batches:.4f} student acc {acc:.3f} "
              f"lr {optimizer.param_groups[0]['lr']:.4f}")
        torch.save({"student": student.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch, "args": vars(args)},
                   os.path.join(args.save, "student.pt"))


if __name__ == "__main__":
    main()
