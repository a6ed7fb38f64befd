#!/usr/bin/env python
import argparse

import torch
from tqdm import tqdm


def get_parser():
    ap = argparse.ArgumentParser(description="accumulating trainer")
    ap.add_argument("--accumulation-steps", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=1)
    return ap


def run_epoch(args, epoch, state):
    bar = tqdm(train_loader, desc=f"epoch {epoch}", disable=None)
    n = len(train_loader)
    optimizer.zero_grad()
    for idx, (x, y) in enumerate(bar, start=1):
        rest = n % args.accumulation_steps
        divisor = rest if rest and idx > n - rest else args.accumulation_steps
        loss = criterion(model(x), y) / divisor
        loss.backward()
        if idx % args.accumulation_steps == 0 or idx == n:
            optimizer.step()
            optimizer.zero_grad()
            state["updates"] += 1
        bar.set_postfix(loss=loss.item() * divisor)


def main():
    args, _ = get_parser().parse_known_args()
    state = {"updates": 0, "epoch": 0}
    for epoch in range(args.epochs):
        run_epoch(args, epoch, state)
        state |= {"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}


if __name__ == "__main__":
    main()
