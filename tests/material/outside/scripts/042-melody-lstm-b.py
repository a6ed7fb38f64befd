"""Melody model: next-note prediction with an LSTM."""
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NOTES = 24
SEQ_LEN = 32
HP = dict(batch=10, accumulate=8, epochs=4, lr=0.5, clip=5.0, hidden=48, seed=9)


def melodies(n=230, seed=0):
    rng = np.random.default_rng(seed)
    scale = np.array([0, 2, 4, 5, 7, 9, 11])
    out = np.zeros((n, SEQ_LEN + 1), dtype=np.int64)
    for row in out:
        deg, key = rng.integers(0, 7), rng.integers(0, 5)
        for t in range(SEQ_LEN + 1):
            row[t] = (scale[deg % 7] + 12 * (deg // 7) + key) % NOTES
            deg = int(np.clip(deg + rng.choice([-2, -1, 1, 2], p=[0.1, 0.4, 0.4, 0.1]), 0, 12))
    return torch.from_numpy(out)


class MelodyLSTM(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.emb = nn.Embedding(NOTES, hidden)
        self.rnn = nn.LSTM(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, NOTES)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def apply_update(model, optimizer, clip, scale=1.0):
    if scale != 1.0:
        for p in model.parameters():
            p.grad.mul_(scale)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()


def run_epoch(model, loader, optimizer, criterion):
    k = HP["accumulate"]
    total, count = 0.0, 0
    for seq, in loader:
        logits = model(seq[:, :-1])
        loss = criterion(logits.flatten(0, 1), seq[:, 1:].flatten())
        (loss / k).backward()
        total += loss.item()
        count += 1
        if count % k == 0:
            apply_update(model, optimizer, HP["clip"])
    rest = count % k
    if rest:  # the last window is short: its gradient is sum / k, make it a mean
        apply_update(model, optimizer, HP["clip"], scale=k / rest)
    return total / count


def main():
    torch.manual_seed(HP["seed"])
    data = melodies()
    train, val = data[:200], data[200:]
    loader = DataLoader(TensorDataset(train), batch_size=HP["batch"], shuffle=True, drop_last=True)
    model = MelodyLSTM(HP["hidden"])
    optimizer = torch.optim.SGD(model.parameters(), lr=HP["lr"], momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(HP["epochs"]):
        tic = time.time()
        model.train()
        train_loss = run_epoch(model, loader, optimizer, criterion)
        model.eval()
        with torch.no_grad():
            val_loss = criterion(model(val[:, :-1]).flatten(0, 1), val[:, 1:].flatten()).item()
        print(f"epoch {epoch}: train {train_loss:.4f} val {val_loss:.4f} ppl {np.exp(val_loss):.2f} "
              f"[{time.time() - tic:.1f}s]")


if __name__ == "__main__":
    main()
