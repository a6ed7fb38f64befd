#!/usr/bin/env python3
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split


class EarlyStopping:
    def __init__(self, patience=5, delta=1e-4):
        self.patience, self.delta = patience, delta
        self.best, self.count, self.state = None, 0, None

    def __call__(self, loss, model):
        if self.best is None or loss < self.best - self.delta:
            self.best, self.count = loss, 0
            self.state = {k: v.clone() for k, v in model.state_dict().items()}
        else:
            self.count += 1
        return self.count >= self.patience


class DAE(nn.Module):
    def __init__(self, d=40, z=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ELU(), nn.Linear(32, z))
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ELU(), nn.Linear(32, d))

    def forward(self, x):
        if self.training:
            x = x + 0.2 * torch.randn_like(x)
        return self.dec(self.enc(x))


def step(model, batch, criterion, optimizer):
    (x,) = batch
    optimizer.zero_grad()
    loss = criterion(model(x), x)
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    z = torch.randn(1500, 6)
    x = torch.tanh(z @ torch.randn(6, 40) * 0.5)
    tr, va = random_split(TensorDataset(x), [1200, 300])
    tl, vl = DataLoader(tr, 64, shuffle=True), DataLoader(va, 300)
    model, criterion = DAE(), nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    stopper = EarlyStopping()
    for epoch in range(12):
        model.train()
        train_loss = sum(step(model, b, criterion, optimizer) for b in tl) / len(tl)
        model.eval()
        with torch.no_grad():
            val_loss = sum(criterion(model(b[0]), b[0]).item() for b in vl) / len(vl)
        print(f"{epoch:3d} {train_loss:.4f} {val_loss:.4f}")
        if stopper(val_loss, model):
            print("early stop")
            break
    model.load_state_dict(stopper.state)


if __name__ == "__main__":
    main()
