"""FashionMNIST with EMA weights for evaluation and early stopping on them."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, random_split
from torchvision import datasets, transforms as T


class WeightAverage:
    def __init__(self, model, decay=0.99):
        self.model, self.decay = model, decay
        self.avg = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self):
        for n, p in self.model.named_parameters():
            self.avg[n].lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def swap_in(self):
        for n, p in self.model.named_parameters():
            self.backup[n] = p.detach().clone()
            p.copy_(self.avg[n])

    @torch.no_grad()
    def swap_out(self):
        for n, p in self.model.named_parameters():
            p.copy_(self.backup[n])
        self.backup = {}


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, math.inf, 0

    def __call__(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    model.eval()
    loss = hit = n = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        loss += criterion(out, y).item() * len(y)
        hit += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hit / n


def train(epochs=4, batch_size=32, lr=0.05, patience=3, seed=0):
    torch.manual_seed(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    full = datasets.FashionMNIST("data", train=True, download=True, transform=T.ToTensor())
    n_val = len(full) // 6
    train_set, val_set = random_split(full, [len(full) - n_val, n_val])
    train_dl = DataLoader(train_set, batch_size, shuffle=True)
    val_dl = DataLoader(val_set, 512)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
    criterion = nn.CrossEntropyLoss()
    ema, stop = WeightAverage(model), EarlyStopping(patience)

    for epoch in range(epochs):
        model.train()
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            ema.update()
        raw_loss, raw_acc = evaluate(model, val_dl, criterion, device)
        ema.swap_in()
        val_loss, val_acc = evaluate(model, val_dl, criterion, device)
        torch.save(model.state_dict(), "fashion_ema.pt")
        print(f"epoch {epoch}: raw {raw_loss:.4f}/{raw_acc:.3f} ema {val_loss:.4f}/{val_acc:.3f}")
        if stop(val_loss):
            print("no improvement, stopping")
            break


if __name__ == "__main__":
    train()
