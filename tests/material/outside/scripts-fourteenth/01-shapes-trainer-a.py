import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class SmallCNN(nn.Module):
    def __init__(self, n_classes=4, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width * 2, 3, padding=1), nn.BatchNorm2d(width * 2), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.head = nn.Linear(width * 2 * 16, n_classes)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def augment(x, max_shift=1, noise=0.05):
    """small random translation and noise, batch-wise"""
    dx, dy = np.random.randint(-max_shift, max_shift + 1, 2)
    x = torch.roll(x, shifts=(int(dx), int(dy)), dims=(2, 3))
    return x + noise * torch.randn_like(x)


def confusion(pred, target, n=4):
    m = torch.zeros(n, n, dtype=torch.long)
    for t, p in zip(target.tolist(), pred.tolist()):
        m[t, p] += 1
    return m


class History:
    """keeps what happened per epoch and prints it as a table at the end"""

    def __init__(self):
        self.rows = []

    def add(self, **kw):
        self.rows.append(kw)
        print("  ".join(f"{k}={v:.4f}" if isinstance(v, float) else f"{k}={v}" for k, v in kw.items()))

    def best(self, key):
        return max(self.rows, key=lambda r: r[key])


class Trainer:
    def __init__(self, args):
        self.args = args
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        x = torch.from_numpy(np.load("data/shapes_x.npy"))
        y = torch.from_numpy(np.load("data/shapes_y.npy")).long()
        ds = TensorDataset(x, y)
        tr, va = random_split(ds, [480, 120], generator=torch.Generator().manual_seed(0))
        self.train_loader = DataLoader(tr, batch_size=args.batch_size, shuffle=True)
        self.val_loader = DataLoader(va, batch_size=120)
        self.model = SmallCNN().to(self.device)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=args.epochs)
        self.history = History()

    def train_epoch(self, epoch):
        self.model.train()
        running, n_batches = 0.0, len(self.train_loader)
        for i, (x, y) in enumerate(self.train_loader):
            x, y = augment(x.to(self.device)), y.to(self.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            running += loss.item()
            (loss / self.args.accum).backward()
            if (i + 1) % self.args.accum == 0:
                self.optimizer.step()
        self.scheduler.step()
        return running / n_batches

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        cm = torch.zeros(4, 4, dtype=torch.long)
        for x, y in self.val_loader:
            pred = self.model(x.to(self.device)).argmax(1).cpu()
            cm += confusion(pred, y)
        return cm.diag().sum().item() / cm.sum().item(), cm

    def fit(self):
        for epoch in range(self.args.epochs):
            loss = self.train_epoch(epoch)
            acc, cm = self.evaluate()
            self.history.add(epoch=epoch, loss=loss, val_acc=acc, lr=self.optimizer.param_groups[0]["lr"])
        print("confusion of the last epoch\n", cm.numpy())
        print("best", self.history.best("val_acc"))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=10)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    a = p.parse_args()
    torch.manual_seed(1)
    np.random.seed(1)
    Trainer(a).fit()
