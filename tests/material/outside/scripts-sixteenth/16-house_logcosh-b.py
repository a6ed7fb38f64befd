import argparse, csv, random
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

# house prices with a log-cosh loss (robust to the outliers in our export)


class HouseDataset(Dataset):
    def __init__(self, rows, stats=None):
        self.x = torch.tensor([[float(v) for k, v in r.items() if k != 'price'] for r in rows])
        self.y = torch.tensor([float(r['price']) for r in rows])
        if stats is None:
            stats = (self.x.mean(0), self.x.std(0), self.y.mean(), self.y.std())
        self.stats = stats
        self.x = (self.x - stats[0]) / stats[1]
        self.y = (self.y - stats[2]) / stats[3]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class LogCoshLoss(nn.Module):
    def forward(self, pred, target):
        d = pred - target
        # log(cosh(d)) without overflow
        return (d + nn.functional.softplus(-2.0 * d) - 0.6931472).mean()


class PriceNet(nn.Module):
    def __init__(self, n_features, hidden=(64, 32), p=0.05):
        super().__init__()
        layers, prev = [], n_features
        for h in hidden:
            layers += [nn.Linear(prev, h), nn.LayerNorm(h), nn.GELU(), nn.Dropout(p)]
            prev = h
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(prev, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def train_one_epoch(model, loader, criterion, optimizer, scheduler):
    model.train()
    total = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


def evaluate(model, loader):
    model.eval()
    preds, ys = [], []
    with torch.no_grad():
        for x, y in loader:
            preds += model(x).flatten().tolist()
            ys += y.tolist()
    scale = loader.dataset.stats[3].item()
    mae = sum(abs(p - t) for p, t in zip(preds, ys)) / len(ys) * scale
    mean = sum(ys) / len(ys)
    r2 = 1 - sum((p - t) ** 2 for p, t in zip(preds, ys)) / sum((t - mean) ** 2 for t in ys)
    return mae, r2


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('csv')
    parser.add_argument('--epochs', type=int, default=15)
    parser.add_argument('--bs', type=int, default=32)
    parser.add_argument('--max_lr', type=float, default=5e-3)
    opt = parser.parse_args()

    rows = list(csv.DictReader(open(opt.csv)))
    random.shuffle(rows)
    train_ds = HouseDataset(rows[:360])
    val_ds = HouseDataset(rows[360:], train_ds.stats)
    train_loader = DataLoader(train_ds, batch_size=opt.bs, shuffle=True)
    val_loader = DataLoader(val_ds, batch_size=120)

    model = PriceNet(train_ds.x.shape[1])
    criterion = LogCoshLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt.max_lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=opt.max_lr, total_steps=opt.epochs * len(train_loader))

    for epoch in range(opt.epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer, scheduler)
        if epoch % 3 == 2:
            mae, r2 = evaluate(model, val_loader)
            print(f'epoch {epoch + 1}: train {loss:.4f} | val mae {mae:.2f} r2 {r2:.3f}')
