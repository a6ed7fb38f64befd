"""Two-moons classifier; evaluation uses an exponential moving average of the weights."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}
        self.num_updates = 0

    @torch.no_grad()
    def update(self, model):
        self.num_updates += 1
        d = min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        for n, p in model.named_parameters():
            if n in self.shadow:
                self.shadow[n].mul_(d).add_(p, alpha=1 - d)

    @torch.no_grad()
    def apply(self, model):
        for n, p in model.named_parameters():
            if n in self.shadow:
                self.backup[n] = p.detach().clone()
                p.copy_(self.shadow[n])

    @torch.no_grad()
    def restore(self, model):
        for n, p in model.named_parameters():
            if n in self.backup:
                p.copy_(self.backup[n])
        self.backup = {}


def two_moons(n, noise=0.2):
    t = math.pi * torch.rand(n)
    y = torch.randint(0, 2, (n,))
    up = torch.stack([t.cos(), t.sin()], 1)
    down = torch.stack([1 - t.cos(), 0.5 - t.sin()], 1)
    x = torch.where(y[:, None] == 0, up, down) + noise * torch.randn(n, 2)
    return x, y


def build_model(width):
    return nn.Sequential(
        nn.Linear(2, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2)
    )


@torch.no_grad()
def evaluate(model, x, y):
    was_training = model.training
    model.eval()
    logits = model(x)
    loss = F.cross_entropy(logits, y).item()
    acc = (logits.argmax(1) == y).float().mean().item()
    model.train(was_training)
    return loss, acc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--eval-every", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--ema-decay", type=float, default=0.98)
    parser.add_argument("--seed", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x_train, y_train = (t.to(device) for t in two_moons(800))
    x_val, y_val = (t.to(device) for t in two_moons(400))

    model = build_model(48).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    ema = EMA(model, args.ema_decay)

    model.train()
    for step in range(1, args.steps + 1):
        idx = torch.randint(0, len(x_train), (args.batch_size,))
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)

        if step % args.eval_every == 0:
            raw_loss, raw_acc = evaluate(model, x_val, y_val)
            ema.apply(model)
            ema_loss, ema_acc = evaluate(model, x_val, y_val)
            print(
                f"step {step:4d}  train {loss.item():.4f}  raw {raw_loss:.4f}/{raw_acc:.3f}  "
                f"ema {ema_loss:.4f}/{ema_acc:.3f}"
            )


if __name__ == "__main__":
    main()
