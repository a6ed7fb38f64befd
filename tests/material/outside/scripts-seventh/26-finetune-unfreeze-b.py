"""Transfer learning with gradual unfreezing: ImageNet resnet18 on your own image folders.

    root/train/<class>/*.jpg
    root/val/<class>/*.jpg

    python finetune_unfreeze.py --root ./flowers

At first only the new head is trained. From epoch 2 layer4 is trained as well, from epoch 4 layer3,
each at a smaller learning rate than the part above it. All rates are multiplied by --decay
after each epoch. Batch norm of frozen parts stays in eval mode.
"""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

UNFREEZE_AT = {2: "layer4", 4: "layer3"}


def build_loaders(root, batch_size, workers):
    norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train_tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
                                   transforms.ToTensor(), norm])
    val_tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), norm])
    train = datasets.ImageFolder(f"{root}/train", train_tf)
    val = datasets.ImageFolder(f"{root}/val", val_tf)
    return (DataLoader(train, batch_size, shuffle=True, num_workers=workers, drop_last=True),
            DataLoader(val, batch_size, num_workers=workers), train.classes)


class FineTuner:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train_dl, self.val_dl, self.classes = build_loaders(args.root, args.batch_size, args.workers)

        self.model = models.resnet18(weights=models.ResNet18_Weights.DEFAULT)
        for p in self.model.parameters():
            p.requires_grad = False
        self.model.fc = nn.Linear(self.model.fc.in_features, len(self.classes))
        self.model.to(self.device)

        self.current_lr = args.lr
        self.optimizer = torch.optim.SGD(
            [{"params": self.model.fc.parameters(), "lr": args.lr}],
            lr=args.lr, momentum=0.9, weight_decay=args.weight_decay)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.trainable = ["fc"]

    def unfreeze(self, name):
        block = getattr(self.model, name)
        for p in block.parameters():
            p.requires_grad = True
        self.current_lr = self.current_lr * self.args.layer_factor
        self.trainable.append(name)
        print(f"unfroze {name}, lr {self.current_lr:.2e}")

    def set_train_mode(self):
        self.model.eval()
        for name in self.trainable:
            getattr(self.model, name).train()

    def train_epoch(self):
        self.set_train_mode()
        loss_sum = n = 0
        for x, y in self.train_dl:
            x, y = x.to(self.device), y.to(self.device)
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.requires_grad], self.args.clip)
            self.optimizer.step()
            loss_sum += loss.item() * len(y)
            n += len(y)
        return loss_sum / n

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        ok = n = 0
        for x, y in self.val_dl:
            ok += (self.model(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            n += len(y)
        return ok / n

    def decay(self):
        self.current_lr *= self.args.decay
        for g in self.optimizer.param_groups:
            g["lr"] *= self.args.decay

    def fit(self):
        best = 0.0
        for epoch in range(self.args.epochs):
            if epoch in UNFREEZE_AT:
                self.unfreeze(UNFREEZE_AT[epoch])
            loss = self.train_epoch()
            acc = self.validate()
            n_train = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
            print(f"epoch {epoch} trainable {n_train / 1e6:.2f}M loss {loss:.4f} val acc {acc:.4f}")
            self.decay()
            if acc >= best:
                best = acc
                torch.save({"model": self.model.state_dict(), "classes": self.classes}, self.args.out)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="./flowers")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--layer-factor", type=float, default=0.3)
    p.add_argument("--decay", type=float, default=0.9)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", default="finetuned.pt")
    torch.manual_seed(0)
    FineTuner(p.parse_args()).fit()
