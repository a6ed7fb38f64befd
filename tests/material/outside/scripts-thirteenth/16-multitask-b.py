"""Multi-task GRU on synthetic ECG-like signals: heart-rate regression + rhythm classification."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

RHYTHMS = 3


def synth(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    rate = 0.5 + 1.5 * torch.rand(n, generator=g)
    rhythm = torch.randint(0, RHYTHMS, (n,), generator=g)
    t = torch.linspace(0, 6, length)
    phase = 2 * torch.pi * rate[:, None] * t[None]
    wobble = torch.where(rhythm[:, None] == 1, 0.8 * torch.sin(1.7 * t)[None], torch.zeros(1))
    sig = torch.sin(phase + wobble).clamp(min=0).pow(4)
    sig = sig * torch.where(rhythm == 2, 0.5, 1.0)[:, None]
    sig = sig + 0.05 * torch.randn(n, length, generator=g)
    return TensorDataset(sig.unsqueeze(-1), (rate - 1.25) / 0.43, rhythm)


class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 5, stride=2)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.rate = nn.Linear(hidden, 1)
        self.rhythm = nn.Linear(hidden, RHYTHMS)

    def forward(self, x):
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        h = self.gru(h)[0].mean(1)
        return self.rate(h).squeeze(-1), self.rhythm(h)


def losses(model, batch):
    x, rate, rhythm = batch
    pr, pc = model(x)
    return F.mse_loss(pr, rate), F.cross_entropy(pc, rhythm)


def optimizer_step(model, opt, max_norm):
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()


def train_epoch(model, loader, opt, args):
    model.train()
    sums = torch.zeros(2)
    n, tail = len(loader), len(loader) % args.accum
    for i, batch in enumerate(loader):
        parts = tail if i >= n - tail else args.accum
        l_rate, l_rhythm = losses(model, batch)
        loss = args.w_rate * l_rate + args.w_rhythm * l_rhythm
        (loss / parts).backward()
        sums += torch.tensor([l_rate.item(), l_rhythm.item()])
        if (i + 1) % args.accum == 0:
            optimizer_step(model, opt, args.max_norm)
            opt.zero_grad()
    if tail:
        optimizer_step(model, opt, args.max_norm)
        opt.zero_grad()
    return (sums / n).tolist()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    se, hit, n = 0.0, 0, 0
    for x, rate, rhythm in loader:
        pr, pc = model(x)
        se += (pr - rate).pow(2).sum().item()
        hit += (pc.argmax(1) == rhythm).sum().item()
        n += len(x)
    return se / n, hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--max-norm", type=float, default=2.0)
    ap.add_argument("--w-rate", type=float, default=1.0)
    ap.add_argument("--w-rhythm", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(0)

    train = DataLoader(synth(304, 120, 1), args.batch_size, shuffle=True)
    test = DataLoader(synth(128, 120, 2), 64)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        tr = train_epoch(model, train, opt, args)
        mse, acc = evaluate(model, test)
        print(f"epoch {epoch}: train {tr[0]:.3f}/{tr[1]:.3f} test mse {mse:.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
