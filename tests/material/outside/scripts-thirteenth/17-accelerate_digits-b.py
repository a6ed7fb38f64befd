"""Digit-like glyph classification with Hugging Face accelerate and gradient accumulation."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

GLYPHS = [
    "###|#.#|#.#|#.#|###", ".#.|##.|.#.|.#.|###", "###|..#|###|#..|###", "###|..#|###|..#|###",
    "#.#|#.#|###|..#|..#", "###|#..|###|..#|###", "###|#..|###|#.#|###", "###|..#|..#|..#|..#",
    "###|#.#|###|#.#|###", "###|#.#|###|..#|###",
]


class Glyphs(Dataset):
    def __init__(self, n, seed, noise=0.5):
        g = torch.Generator().manual_seed(seed)
        base = torch.stack([
            torch.tensor([[float(c == "#") for c in row] for row in glyph.split("|")]) for glyph in GLYPHS
        ])
        base = base.repeat_interleave(2, 1).repeat_interleave(2, 2)
        self.y = torch.randint(0, 10, (n,), generator=g)
        canvas = torch.zeros(n, 14, 12)
        for i, label in enumerate(self.y):
            r = int(torch.randint(0, 5, (1,), generator=g))
            c = int(torch.randint(0, 7, (1,), generator=g))
            canvas[i, r:r + 10, c:c + 6] = base[label]
        self.x = (canvas + noise * torch.randn(canvas.shape, generator=g)).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def evaluate(accelerator, model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            pred, ref = accelerator.gather_for_metrics((model(x).argmax(1), y))
            hits += (pred == ref).sum().item()
            total += ref.numel()
    return hits / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--train-size", type=int, default=1920)
    args = ap.parse_args()
    set_seed(0)

    accelerator = Accelerator(gradient_accumulation_steps=args.accum)
    train_loader = DataLoader(Glyphs(args.train_size, 1), args.batch_size, shuffle=True)
    test_loader = DataLoader(Glyphs(500, 2), 100)
    model = SmallCNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    model, optimizer, train_loader, test_loader = accelerator.prepare(model, optimizer, train_loader, test_loader)

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss / args.accum)
                optimizer.step()
                optimizer.zero_grad()
            running += loss.item()
        acc = evaluate(accelerator, model, test_loader)
        accelerator.print(f"epoch {epoch}: loss {running / len(train_loader):.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
