"""Heartbeat classification, 1D convnet with EMA weights for evaluation (mitbih csv)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    def update(self):
        for n, p in self.model.named_parameters():
            if p.requires_grad:
                self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p.detach()

    def apply_shadow(self):
        for n, p in self.model.named_parameters():
            if p.requires_grad:
                self.backup[n] = p.data
                p.data = self.shadow[n].clone()

    def restore(self):
        for n, p in self.model.named_parameters():
            if p.requires_grad:
                p.data = self.backup[n]
        self.backup = {}


def load(path):
    a = np.loadtxt(path, delimiter=',', dtype=np.float32)
    return TensorDataset(torch.from_numpy(a[:, None, :-1]), torch.from_numpy(a[:, -1]).long())


class ECGNet(nn.Module):
    def __init__(self, c=32, k=5):
        super().__init__()
        def blk(i, o):
            return nn.Sequential(nn.Conv1d(i, o, k, padding=k // 2), nn.GroupNorm(4, o), nn.ReLU(), nn.MaxPool1d(2))
        self.net = nn.Sequential(blk(1, c), blk(c, c), blk(c, 2 * c), blk(2 * c, 2 * c), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2 * c, 5))

    def forward(self, x):
        return self.net(x)


def evaluate(model, loader, device):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return correct / len(loader.dataset)


def main(epochs=30, lr=2e-3, decay=0.999):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train_dl = DataLoader(load('mitbih_train.csv'), batch_size=256, shuffle=True)
    test_dl = DataLoader(load('mitbih_test.csv'), batch_size=1024)
    model = ECGNet().to(device)
    ema = EMA(model, decay)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, epochs=epochs, steps_per_epoch=len(train_dl))
    criterion = nn.CrossEntropyLoss()
    best = 0.
    for epoch in range(epochs):
        model.train()
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            scheduler.step()
            ema.update()
        raw = evaluate(model, test_dl, device)
        ema.apply_shadow()
        acc = evaluate(model, test_dl, device)
        if acc > best:
            best = acc
            torch.save(model.state_dict(), 'ecg_ema.pt')
        print(f'epoch {epoch}: raw {raw:.4f} ema {acc:.4f} best {best:.4f}')


if __name__ == '__main__':
    main()
